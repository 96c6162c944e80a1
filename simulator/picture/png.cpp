#include "simulator/picture/png.h"

#ifdef KVPLAN_HAVE_PNG

#include <cairo.h>
#include <dlfcn.h>
#include <librsvg/rsvg.h>

#include <cstdint>
#include <memory>

namespace kvplan::picture {
namespace {

/// The functions that are called in librsvg and in the libraries that it loads: Cairo and GLib.
struct Library {
  decltype(&rsvg_handle_new_from_data) new_from_data{nullptr};
  decltype(&rsvg_handle_render_document) render_document{nullptr};
  decltype(&g_object_unref) object_unref{nullptr};
  decltype(&g_error_free) error_free{nullptr};
  decltype(&cairo_image_surface_create) surface_create{nullptr};
  decltype(&cairo_surface_destroy) surface_destroy{nullptr};
  decltype(&cairo_surface_status) surface_status{nullptr};
  decltype(&cairo_surface_write_to_png_stream) write_png{nullptr};
  decltype(&cairo_create) create{nullptr};
  decltype(&cairo_destroy) destroy{nullptr};
};

Error not_there(const std::string& why) {
  return bad_input("PNG needs librsvg (" + why +
                   "): install Debian's librsvg2-2, or write an .svg file and convert it");
}

Result<Library> load() {
  // The library stays loaded: what it caches for later pictures (fonts, types) cannot be unloaded.
  void* const handle = ::dlopen("librsvg-2.so.2", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    return not_there(why == nullptr ? "it cannot be loaded" : why);
  }
  Library out;
  std::string missing;
  const auto find = [&](const char* name, auto& to) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(::dlsym(handle, name));
    if (to == nullptr) missing = name;
  };
  find("rsvg_handle_new_from_data", out.new_from_data);
  find("rsvg_handle_render_document", out.render_document);
  find("g_object_unref", out.object_unref);
  find("g_error_free", out.error_free);
  find("cairo_image_surface_create", out.surface_create);
  find("cairo_surface_destroy", out.surface_destroy);
  find("cairo_surface_status", out.surface_status);
  find("cairo_surface_write_to_png_stream", out.write_png);
  find("cairo_create", out.create);
  find("cairo_destroy", out.destroy);
  if (!missing.empty()) return not_there("it has no " + missing);
  return out;
}

cairo_status_t append(void* to, const unsigned char* bytes, unsigned int count) {
  static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(bytes), count);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

Result<std::string> png_of_svg(std::string_view svg, Size size) {
  if (size.width < 1 || size.height < 1 || size.width > kMostSide || size.height > kMostSide ||
      std::int64_t{size.width} * size.height > kMostPixels)
    return bad_input(
        "a PNG can have at most 32,767 pixels per side and 268,435,456 in total; this one would have " +
        std::to_string(size.width) + " x " + std::to_string(size.height));
  KVPLAN_TRY(const Library library, load());
  GError* error = nullptr;
  const auto refused = [&]() -> Error {
    const std::string why = error == nullptr ? "no reason given" : error->message;
    if (error != nullptr) library.error_free(error);
    return bad_input("librsvg refused the picture: " + why);
  };
  const std::unique_ptr<RsvgHandle, void (*)(gpointer)> drawing(
      library.new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), &error),
      library.object_unref);
  if (!drawing) return refused();
  const std::unique_ptr<cairo_surface_t, decltype(library.surface_destroy)> surface(
      library.surface_create(CAIRO_FORMAT_ARGB32, size.width, size.height), library.surface_destroy);
  if (library.surface_status(surface.get()) != CAIRO_STATUS_SUCCESS)
    return bad_input("not enough memory for a picture of " + std::to_string(size.width) + " x " +
                     std::to_string(size.height) + " pixels");
  {
    const std::unique_ptr<cairo_t, decltype(library.destroy)> pen(library.create(surface.get()),
                                                                  library.destroy);
    const RsvgRectangle whole{0, 0, static_cast<double>(size.width), static_cast<double>(size.height)};
    if (!library.render_document(drawing.get(), pen.get(), &whole, &error)) return refused();
  }
  std::string out;
  if (library.write_png(surface.get(), append, &out) != CAIRO_STATUS_SUCCESS)
    return bad_input("Cairo could not write the picture");
  return out;
}

}  // namespace kvplan::picture

#else

namespace kvplan::picture {

Result<std::string> png_of_svg(std::string_view /*svg*/, Size /*size*/) {
  return bad_input(
      "this kvplan was built without PNG support: install Debian's librsvg2-dev and build again, or write an "
      ".svg file");
}

}  // namespace kvplan::picture

#endif
