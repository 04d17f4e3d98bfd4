internal import AdCore
package import JSON

/// The JSON Schema of catalogue files, written from the declarations that the reader goes by. `docs/catalog.schema.json`
/// holds it; a test keeps it current.
package enum CatalogSchema {
  /// The whole document.
  package static var document: JSONValue {
    .object([
      JSONValue.Member("$schema", "https://json-schema.org/draft/2020-12/schema"),
      JSONValue.Member("title", "Handbill catalogue file"),
      JSONValue.Member(
        "description",
        "What `handbill catalog apply` takes. Records that the file does not name stay as they are. Money is decimal text."
      ),
      JSONValue.Member("type", "object"), JSONValue.Member("additionalProperties", false),
      JSONValue.Member(
        "properties",
        .object(
          [JSONValue.Member("$schema", ["type": "string"])]
            + CatalogKind.inFiles.map { kind in
              let object = schema(.object(kind.fields))
              return JSONValue.Member(
                kind.section, kind == .settings ? object : ["type": "array", "items": object])
            })),
    ])
  }

  private static func schema(_ shape: CatalogShape) -> JSONValue {
    switch shape {
    case .slug: ["type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,39}$"]
    case .text(let bytesMaximum): ["type": "string", "minLength": 1, "maxLength": .integer(Int64(bytesMaximum))]
    case .url: ["type": "string", "format": "uri", "maxLength": .integer(Int64(URLText.bytesMaximum))]
    case .image: ["type": "string", "format": "uri-reference", "maxLength": .integer(Int64(URLText.bytesMaximum))]
    case .currency: ["type": "string", "pattern": "^[A-Z]{3}$"]
    case .money: ["type": "string", "pattern": "^[0-9]+([.][0-9]{1,9})?$"]
    case .pricePerThousand: ["type": "string", "pattern": "^[0-9]+([.][0-9]{1,6}0*)?$"]
    case .flag: ["type": "boolean"]
    case .integer(let range):
      ["type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)]
    case .moment:
      ["type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?Z$"]
    case .choice(let values): ["type": "string", "enum": .texts(values)]
    case .nullable(let shape): ["oneOf": [schema(shape), ["type": "null"]]]
    case .list(let shape):
      ["type": "array", "items": schema(shape), "maxItems": .integer(Int64(CatalogLimits.entriesMaximum))]
    case .map(let names, let shape):
      [
        "type": "object", "additionalProperties": false, "minProperties": 1,
        "properties": .object(names.map { JSONValue.Member($0, schema(shape)) }),
      ]
    case .currencies(let shape):
      [
        "type": "object", "propertyNames": schema(.currency), "additionalProperties": schema(shape),
        "maxProperties": .integer(Int64(CatalogLimits.entriesMaximum)),
      ]
    case .object(let fields): object(fields)
    case .hexadecimal(let bytes): ["type": "string", "pattern": .text("^[0-9a-fA-F]{\(bytes * 2)}$")]
    }
  }

  private static func object(_ fields: [CatalogField]) -> JSONValue {
    var members: [JSONValue.Member] = [
      JSONValue.Member("type", "object"), JSONValue.Member("additionalProperties", false),
      JSONValue.Member(
        "properties",
        .object(
          fields.map { field in
            guard case .object(let members) = schema(field.shape) else { return JSONValue.Member(field.name, true) }
            return JSONValue.Member(
              field.name, .object([JSONValue.Member("description", .text(field.help))] + members))
          })),
    ]
    let required = fields.filter(\.isRequired).map(\.name)
    if !required.isEmpty { members.append(JSONValue.Member("required", .texts(required))) }
    return .object(members)
  }
}
