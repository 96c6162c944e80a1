#include "simulator/report/choice_output.h"

namespace kvplan::report {

void write_value(JsonWriter& json, const Choice& choice, const Param& param) {
  switch (param.kind) {
    case ParamKind::kInteger:
      json.value(choice.integer(param.name));
      return;
    case ParamKind::kDecimal:
      json.value(choice.decimal(param.name));
      return;
    case ParamKind::kFlag:
      json.value(choice.flag(param.name));
      return;
    case ParamKind::kText:
      json.value(choice.text(param.name));
      return;
  }
}

void write_params(JsonWriter& json, const Choice& choice) {
  json.key("params").begin_object();
  for (const Param& param : choice.descriptor().params) {
    json.key(param.name);
    write_value(json, choice, param);
  }
  json.end_object();
}

}  // namespace kvplan::report
