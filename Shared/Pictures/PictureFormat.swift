/// The forms of images that an edge serves: those that every browser and device draws, told by their first bytes.
package enum PictureFormat: String, CaseIterable, Sendable {
  case png = "image/png"
  case jpeg = "image/jpeg"
  case gif = "image/gif"
  case webp = "image/webp"

  /// Nil for anything else: nothing that a browser would run is ever served.
  package init?(of bytes: [UInt8]) {
    func begins(_ beginning: [UInt8], at start: Int = 0) -> Bool {
      bytes.count >= start + beginning.count && bytes[start..<start + beginning.count].elementsEqual(beginning)
    }
    if begins([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .png
    } else if begins([0xFF, 0xD8, 0xFF]) {
      self = .jpeg
    } else if begins(Array("GIF87a".utf8)) || begins(Array("GIF89a".utf8)) {
      self = .gif
    } else if begins(Array("RIFF".utf8)), begins(Array("WEBP".utf8), at: 8) {
      self = .webp
    } else {
      return nil
    }
  }
}
