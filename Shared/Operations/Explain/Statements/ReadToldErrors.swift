/// Errors that a device told of a request that got no ad (E1, E5, E6). Each partition is asked, since whoever asks
/// knows the id alone.
enum ReadToldErrors {
  static let rows = "SELECT * FROM impression_tracking.failure WHERE request_id = $1"
}
