internal import AdBasics
internal import Hashes

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

  /// An image's size, and where it lies, as ``ImageReference`` says it in one text.
  static func image(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> (size: AdSize, url: String) {
    var size: AdSize?
    var url = ""
    var sha256: [UInt8] = []
    var byteCount: Int64 = 0
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: size = try reader.choice("image.size")
      case 2: url = try reader.text("image.url", maximum: FieldLimits.urlBytesMaximum)
      case 3: sha256 = Array(try reader.bytes("image.sha256", maximum: SoftwareSHA256.byteCount))
      case 4: byteCount = try reader.integer("image.byte_count", in: 0...Int64(ImageReference.bytesMaximum))
      default: try reader.skip()
      }
    }
    url = try FieldValue.required(url, "image.url")
    if !sha256.isEmpty || byteCount > 0 {
      guard let contents = ImageReference.Contents(sha256: sha256, byteCount: Int(byteCount)) else {
        throw Rejection(.invalidField, "image.sha256 is not 32 bytes, or image.byte_count is missing")
      }
      url = ImageReference(url: url, contents: contents).text
    }
    return (try FieldValue.required(size, "image.size"), url)
  }

  static func write(_ size: AdSize, _ url: String, to writer: inout WireWriter) {
    let reference = ImageReference(url)
    writer.unsigned(1, UInt64(size.rawValue))
    writer.text(2, reference.url)
    guard let contents = reference.contents else { return }
    writer.bytes(3, contents.sha256)
    writer.unsigned(4, UInt64(contents.byteCount))
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
