internal import CLibcrypto

/// AES-256-GCM (NIST SP 800-38D) under one key: whoever has it can decrypt what was encrypted, nobody else can read or alter
/// it. What the key does to the cipher is computed once, for each direction. For one thread at a time.
@safe
package final class AES256GCM {
  /// The length of a key.
  package static let keyBytes = 32
  /// The length of a nonce. Two texts under one key must never share one.
  package static let nonceBytes = 16
  /// The length of the tag, which proves that nothing was altered.
  package static let tagBytes = 16

  /// Each owns its context until `deinit`, and nothing else knows it.
  private let encrypting: OpaquePointer
  private let decrypting: OpaquePointer

  /// - Parameter key: of ``keyBytes``.
  package init(key: [UInt8]) throws(CryptoError) {
    guard key.count == AES256GCM.keyBytes, let encrypting = unsafe AES256GCM.context(key, isEncrypting: true) else {
      throw CryptoError.unavailable(algorithm: "AES-256-GCM")
    }
    guard let decrypting = unsafe AES256GCM.context(key, isEncrypting: false) else {
      unsafe EVP_CIPHER_CTX_free(encrypting)
      throw CryptoError.unavailable(algorithm: "AES-256-GCM")
    }
    unsafe self.encrypting = encrypting
    unsafe self.decrypting = decrypting
  }

  deinit {
    // They wipe the key they hold.
    unsafe EVP_CIPHER_CTX_free(encrypting)
    unsafe EVP_CIPHER_CTX_free(decrypting)
  }

  private static func context(_ key: [UInt8], isEncrypting: Bool) -> OpaquePointer? {
    guard let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
    let direction: Int32 = isEncrypting ? 1 : 0
    guard unsafe EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, nil, nil, direction) == 1,
      unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonceBytes), nil) == 1,
      unsafe EVP_CipherInit_ex(context, nil, nil, key, nil, direction) == 1
    else {
      unsafe EVP_CIPHER_CTX_free(context)
      return nil
    }
    return unsafe context
  }

  /// Encrypts `text` where it lies and writes its tag, which covers `clear` as well. Allocates nothing.
  ///
  /// - Parameters:
  ///   - text: anything; its length stays.
  ///   - clear: what is sent beside it in clear, and must not be altered either.
  ///   - nonce: of ``nonceBytes``; may be a part of `clear`.
  ///   - tag: gets ``tagBytes``.
  package func encrypt(
    _ text: UnsafeMutableRawBufferPointer, clear: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer,
    tag: UnsafeMutableRawBufferPointer
  ) {
    precondition(tag.count == AES256GCM.tagBytes, "A tag has 16 bytes.")
    let isEncrypted =
      unsafe begin(encrypting, clear: clear, nonce: nonce) && pass(encrypting, text) && end(encrypting, text)
      && EVP_CIPHER_CTX_ctrl(encrypting, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), tag.baseAddress) == 1
    // With a context that is there and lengths that fit, libcrypto has nothing to refuse.
    precondition(isEncrypted, "libcrypto did not encrypt.")
  }

  /// Decrypts `text` where it lies.
  ///
  /// - Returns: whether it, `clear` and the tag are what was encrypted with this nonce; if not, `text` is worth nothing.
  package func decrypt(
    _ text: UnsafeMutableRawBufferPointer, clear: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer,
    tag: UnsafeRawBufferPointer
  ) -> Bool {
    guard tag.count == AES256GCM.tagBytes else { return false }
    return unsafe begin(decrypting, clear: clear, nonce: nonce) && pass(decrypting, text)
      // It only reads the tag, though it does not say so.
      && EVP_CIPHER_CTX_ctrl(
        decrypting, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), UnsafeMutableRawPointer(mutating: tag.baseAddress)) == 1
      && end(decrypting, text)
  }

  private func begin(
    _ context: OpaquePointer, clear: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer
  ) -> Bool {
    precondition(nonce.count == AES256GCM.nonceBytes, "A nonce has 16 bytes.")
    var count: Int32 = 0
    return unsafe EVP_CipherInit_ex(
      context, nil, nil, nil, nonce.baseAddress?.assumingMemoryBound(to: UInt8.self), -1) == 1
      && EVP_CipherUpdate(
        context, nil, &count, clear.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(clear.count)) == 1
  }

  private func pass(_ context: OpaquePointer, _ text: UnsafeMutableRawBufferPointer) -> Bool {
    var count: Int32 = 0
    let bytes = unsafe text.baseAddress?.assumingMemoryBound(to: UInt8.self)
    return unsafe EVP_CipherUpdate(context, bytes, &count, bytes, Int32(text.count)) == 1
  }

  /// Writes nothing in this mode, but wants to know where it would.
  private func end(_ context: OpaquePointer, _ text: UnsafeMutableRawBufferPointer) -> Bool {
    var count: Int32 = 0
    return unsafe EVP_CipherFinal_ex(context, text.baseAddress?.assumingMemoryBound(to: UInt8.self), &count) == 1
  }
}
