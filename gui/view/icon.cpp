#include "gui/view/icon.h"

#include <QPainter>
#include <QPixmap>
#include <QSvgRenderer>

namespace kvplan::gui {

// Painted here: without Qt's plugin for such icons, a file's name would give no picture and no word about it.
QIcon program_icon() {
  QSvgRenderer drawing(QStringLiteral(":/desktop/kvplan-gui.svg"));
  QIcon icon;
  for (const int pixels : {16, 24, 32, 48, 64, 128, 256}) {
    QPixmap picture(pixels, pixels);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    drawing.render(&painter);
    painter.end();
    icon.addPixmap(picture);
  }
  return icon;
}

}  // namespace kvplan::gui
