internal import CLibrdkafka
internal import Threads

/// One entry of the brokers' access control list: somebody may do something, from everywhere.
package struct KafkaAccessRule: Hashable, Sendable {
  package enum Operation: Hashable, Sendable, CaseIterable {
    case read, write, create, describe, alter, describeConfigs, alterConfigs
  }

  package let principal: String
  /// Else a consumer group.
  package let isTopic: Bool
  /// The name of the topic or group; where `isPrefix`, how the names begin.
  package let name: String
  package let isPrefix: Bool
  package let operation: Operation

  package init(principal: String, isTopic: Bool, name: String, isPrefix: Bool, operation: Operation) {
    self.principal = principal
    self.isTopic = isTopic
    self.name = name
    self.isPrefix = isPrefix
    self.operation = operation
  }
}

/// The access rules of one principal as the brokers have them.
package struct KafkaAccess: Sendable {
  package var rules: Set<KafkaAccessRule> = []
  /// Entries of a kind that ``KafkaAccessRule`` does not tell: denials, those for one host, on clusters or transactions.
  package var others = 0
}

extension KafkaAdmin {
  /// Whether the brokers have access rules at all; false where everybody may do everything. Who may not ask learns that
  /// there are some.
  package func hasAccessRules(timeoutMilliseconds: Int32 = 10_000) throws(KafkaError) -> Bool {
    do throws(KafkaError) {
      _ = try access(of: "User:nobody", timeoutMilliseconds: timeoutMilliseconds)
      return true
    } catch {
      switch error.kind {
      case .notAuthorized: return true
      case .noAccessRules: return false
      default: throw error
      }
    }
  }

  /// What `principal` may do. Throws `noAccessRules` where the brokers have no authorizer.
  package func access(of principal: String, timeoutMilliseconds: Int32 = 10_000) throws(KafkaError) -> KafkaAccess {
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    var reason = [CChar](repeating: 0, count: 256)
    let filter = unsafe rd_kafka_AclBindingFilter_new(
      RD_KAFKA_RESOURCE_ANY, nil, RD_KAFKA_RESOURCE_PATTERN_ANY, principal, nil, RD_KAFKA_ACL_OPERATION_ANY,
      RD_KAFKA_ACL_PERMISSION_TYPE_ANY, &reason, reason.count)
    guard let filter = unsafe filter else { throw KafkaError(.configuration, "librdkafka refuses \(principal)") }
    defer { unsafe rd_kafka_AclBinding_destroy(filter) }
    var access = KafkaAccess()
    try unsafe perform(RD_KAFKA_ADMIN_OP_DESCRIBEACLS, resultType: RD_KAFKA_EVENT_DESCRIBEACLS_RESULT, deadline) {
      unsafe rd_kafka_DescribeAcls(client.pointer, filter, $0, $1)
    } read: { event in
      var count = 0
      guard let found = unsafe rd_kafka_DescribeAcls_result_acls(event, &count) else { return nil }
      for index in 0..<count {
        if let rule = unsafe KafkaAccessRule(found[index]) {
          access.rules.insert(rule)
        } else {
          access.others += 1
        }
      }
      return nil
    }
    return access
  }

  /// Adds these rules; those that are there stay.
  package func allow(_ rules: [KafkaAccessRule], timeoutMilliseconds: Int32 = 30_000) throws(KafkaError) {
    guard !rules.isEmpty else { return }
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    var bindings = unsafe [OpaquePointer?]()
    defer { for index in unsafe bindings.indices { unsafe rd_kafka_AclBinding_destroy(bindings[index]) } }
    for rule in rules { unsafe bindings.append(try rule.binding(isFilter: false)) }
    try unsafe perform(RD_KAFKA_ADMIN_OP_CREATEACLS, resultType: RD_KAFKA_EVENT_CREATEACLS_RESULT, deadline) {
      unsafe rd_kafka_CreateAcls(client.pointer, &bindings, bindings.count, $0, $1)
    } read: { event in
      var count = 0
      guard let results = unsafe rd_kafka_CreateAcls_result_acls(event, &count) else { return nil }
      for index in 0..<count {
        if let error = unsafe KafkaAdmin.error(rd_kafka_acl_result_error(results[index])) { return error }
      }
      return nil
    }
  }

  /// Takes these rules away; what is not there does not matter.
  package func forbid(_ rules: [KafkaAccessRule], timeoutMilliseconds: Int32 = 30_000) throws(KafkaError) {
    guard !rules.isEmpty else { return }
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    var filters = unsafe [OpaquePointer?]()
    defer { for index in unsafe filters.indices { unsafe rd_kafka_AclBinding_destroy(filters[index]) } }
    for rule in rules { unsafe filters.append(try rule.binding(isFilter: true)) }
    try unsafe perform(RD_KAFKA_ADMIN_OP_DELETEACLS, resultType: RD_KAFKA_EVENT_DELETEACLS_RESULT, deadline) {
      unsafe rd_kafka_DeleteAcls(client.pointer, &filters, filters.count, $0, $1)
    } read: { event in
      var count = 0
      guard let responses = unsafe rd_kafka_DeleteAcls_result_responses(event, &count) else { return nil }
      for index in 0..<count {
        let error = unsafe rd_kafka_DeleteAcls_result_response_error(responses[index])
        if let error = unsafe KafkaAdmin.error(error) { return error }
      }
      return nil
    }
  }

  /// An error that belongs to a result: not to be destroyed by whoever reads it.
  private static func error(_ error: OpaquePointer?) -> KafkaError? {
    guard let error = unsafe error else { return nil }
    let code = unsafe rd_kafka_error_code(error)
    guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
    return unsafe KafkaError(code: code, message: String(cString: rd_kafka_error_string(error)))
  }
}

extension KafkaAccessRule {
  private static let operations: [(Operation, rd_kafka_AclOperation_t)] = [
    (.read, RD_KAFKA_ACL_OPERATION_READ), (.write, RD_KAFKA_ACL_OPERATION_WRITE),
    (.create, RD_KAFKA_ACL_OPERATION_CREATE), (.describe, RD_KAFKA_ACL_OPERATION_DESCRIBE),
    (.alter, RD_KAFKA_ACL_OPERATION_ALTER), (.describeConfigs, RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS),
    (.alterConfigs, RD_KAFKA_ACL_OPERATION_ALTER_CONFIGS),
  ]

  /// Nil for an entry that no rule of this type says.
  fileprivate init?(_ binding: OpaquePointer?) {
    let type = unsafe rd_kafka_AclBinding_restype(binding)
    let pattern = unsafe rd_kafka_AclBinding_resource_pattern_type(binding)
    let number = unsafe rd_kafka_AclBinding_operation(binding)
    guard type == RD_KAFKA_RESOURCE_TOPIC || type == RD_KAFKA_RESOURCE_GROUP,
      pattern == RD_KAFKA_RESOURCE_PATTERN_LITERAL || pattern == RD_KAFKA_RESOURCE_PATTERN_PREFIXED,
      unsafe rd_kafka_AclBinding_permission_type(binding) == RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW,
      let operation = Self.operations.first(where: { $0.1 == number })?.0,
      let name = unsafe rd_kafka_AclBinding_name(binding),
      let principal = unsafe rd_kafka_AclBinding_principal(binding),
      let host = unsafe rd_kafka_AclBinding_host(binding), unsafe String(cString: host) == "*"
    else { return nil }
    unsafe self.init(
      principal: String(cString: principal), isTopic: type == RD_KAFKA_RESOURCE_TOPIC, name: String(cString: name),
      isPrefix: pattern == RD_KAFKA_RESOURCE_PATTERN_PREFIXED, operation: operation)
  }

  /// A new binding, or a filter that finds just it; to be destroyed by the caller.
  fileprivate func binding(isFilter: Bool) throws(KafkaError) -> OpaquePointer {
    let type = isTopic ? RD_KAFKA_RESOURCE_TOPIC : RD_KAFKA_RESOURCE_GROUP
    let pattern = isPrefix ? RD_KAFKA_RESOURCE_PATTERN_PREFIXED : RD_KAFKA_RESOURCE_PATTERN_LITERAL
    let number = Self.operations.first { $0.0 == operation }?.1 ?? RD_KAFKA_ACL_OPERATION_UNKNOWN
    var reason = [CChar](repeating: 0, count: 256)
    let made =
      unsafe isFilter
      ? rd_kafka_AclBindingFilter_new(
        type, name, pattern, principal, "*", number, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, &reason, reason.count)
      : rd_kafka_AclBinding_new(
        type, name, pattern, principal, "*", number, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, &reason, reason.count)
    guard let made = unsafe made else {
      throw KafkaError(.configuration, "librdkafka refuses an access rule of \(principal) on \(name)")
    }
    return unsafe made
  }
}
