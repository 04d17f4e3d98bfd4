internal import CLibrdkafka
internal import Threads

extension KafkaAdmin {
  /// A topic's settings as they are in force, by Kafka's names; with only those that were set for this topic if wanted.
  package func settings(
    of topic: String, onlyOwn: Bool = false, timeoutMilliseconds: Int32 = 10_000
  ) throws(KafkaError) -> [String: String] {
    var resource = unsafe rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic)
    defer { unsafe rd_kafka_ConfigResource_destroy(resource) }
    var settings: [String: String] = [:]
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    try unsafe perform(
      RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, resultType: RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT, deadline
    ) {
      unsafe rd_kafka_DescribeConfigs(client.pointer, &resource, 1, $0, $1)
    } read: { event in
      var count = 0
      guard let found = unsafe rd_kafka_DescribeConfigs_result_resources(event, &count), count > 0 else { return nil }
      if let error = unsafe KafkaAdmin.error(of: found[0]) { return error }
      var entries = 0
      guard let list = unsafe rd_kafka_ConfigResource_configs(found[0], &entries) else { return nil }
      for index in 0..<entries {
        guard let name = unsafe rd_kafka_ConfigEntry_name(list[index]),
          let value = unsafe rd_kafka_ConfigEntry_value(list[index])
        else { continue }
        let source = unsafe rd_kafka_ConfigEntry_source(list[index])
        guard !onlyOwn || source == RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG else { continue }
        settings[unsafe String(cString: name)] = unsafe String(cString: value)
      }
      return nil
    }
    return settings
  }

  /// Gives a topic these settings; others that were set for it stay.
  ///
  /// - Returns: the names of those that were not so.
  @discardableResult
  package func bring(
    _ topic: String, to settings: [String: String], timeoutMilliseconds: Int32 = 10_000
  ) throws(KafkaError) -> [String] {
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    let inForce = try self.settings(of: topic, timeoutMilliseconds: timeoutMilliseconds)
    let wrong = settings.filter { inForce[$0.key] != $0.value }.keys.sorted()
    guard !wrong.isEmpty else { return [] }
    // The request replaces all that was set for the topic.
    let own = try self.settings(of: topic, onlyOwn: true, timeoutMilliseconds: deadline.remainingMilliseconds)
    var resource = unsafe rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic)
    defer { unsafe rd_kafka_ConfigResource_destroy(resource) }
    for (name, value) in own.merging(settings, uniquingKeysWith: { $1 }) {
      try unsafe KafkaError.check(rd_kafka_ConfigResource_set_config(resource, name, value))
    }
    try unsafe perform(RD_KAFKA_ADMIN_OP_ALTERCONFIGS, resultType: RD_KAFKA_EVENT_ALTERCONFIGS_RESULT, deadline) {
      unsafe rd_kafka_AlterConfigs(client.pointer, &resource, 1, $0, $1)
    } read: { event in
      var count = 0
      guard let found = unsafe rd_kafka_AlterConfigs_result_resources(event, &count), count > 0 else { return nil }
      return unsafe KafkaAdmin.error(of: found[0])
    }
    return wrong
  }

  private static func error(of resource: OpaquePointer?) -> KafkaError? {
    let code = unsafe rd_kafka_ConfigResource_error(resource)
    guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
    return unsafe KafkaError(
      code: code, message: rd_kafka_ConfigResource_error_string(resource).map { unsafe String(cString: $0) })
  }
}
