internal import AdBasics

/// The parts that several messages share.
enum CommonFields {
  static func action(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> AdAction {
    var kind: AdAction.Kind?
    var destination = ""
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: kind = try reader.choice("action.kind")
      case 2: destination = try reader.text("action.destination", maximum: FieldLimits.urlBytesMaximum)
      default: try reader.skip()
      }
    }
    return AdAction(
      kind: try FieldValue.required(kind, "action.kind"),
      destination: try FieldValue.required(destination, "action.destination"))
  }

  static func write(_ action: AdAction, to writer: inout WireWriter) {
    writer.unsigned(1, UInt64(action.kind.rawValue))
    writer.text(2, action.destination)
  }

  static func image(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> (size: AdSize, url: String) {
    var size: AdSize?
    var url = ""
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: size = try reader.choice("image.size")
      case 2: url = try reader.text("image.url", maximum: FieldLimits.urlBytesMaximum)
      default: try reader.skip()
      }
    }
    return (try FieldValue.required(size, "image.size"), try FieldValue.required(url, "image.url"))
  }

  static func write(_ size: AdSize, _ url: String, to writer: inout WireWriter) {
    writer.unsigned(1, UInt64(size.rawValue))
    writer.text(2, url)
  }

  static func watermark(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> Watermark {
    var watermark = Watermark(time: Timestamp(milliseconds: 0), sequence: 0)
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: watermark.time = try reader.timestamp("watermark.time_milliseconds")
      case 2: watermark.sequence = try reader.integer("watermark.sequence", in: 0...Int64.max)
      case 3:
        watermark.firstLostSequence = try reader.integer("watermark.first_lost_sequence", in: 0...Int64.max)
      default: try reader.skip()
      }
    }
    return watermark
  }

  static func write(_ watermark: Watermark, to writer: inout WireWriter) {
    writer.signed(1, watermark.time.milliseconds)
    writer.signed(2, watermark.sequence)
    writer.signed(3, watermark.firstLostSequence)
  }
}
