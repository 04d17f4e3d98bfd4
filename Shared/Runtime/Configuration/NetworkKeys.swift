package import AdCore

/// The network's secrets that several services share.
package enum NetworkKeys {
  package static let ring = ConfigurationKey<KeyRing?>(
    "HANDBILL_TOKEN_KEYS", kind: "ID:BASE64 [from TIME],…", neutral: nil, isSecret: true,
    help: "Keys of the serve tokens and of what services write to each other: number, colon, at least 32 random bytes "
      + "in base64, divided by commas. The highest number signs, from its time on where it has one "
      + "(2:BASE64 from 2026-02-01T00:00:00Z): give a new key one by which every process has it. Every service has the "
      + "same, old ones for 8 days, or as long as conversions count."
  ) { text in
    do throws(KeyRingError) { return .success(try KeyRing(configuration: text)) } catch {
      return .failure(ConfigurationValueError("must be a key ring: \(error)"))
    }
  }
}
