package import AdCore
internal import AdEvents
package import Crypto

/// Takes the records of a service's inputs into batches: keeps their bytes as they came, believes what services alone may
/// write only under the network's keys, and has the rest decoded. For one thread at a time.
package struct RecordInput<Service: PipelineService> {
  private let topics: [String]
  private let isAuthenticated: [Bool]
  private let check: MessageMAC
  private var decoder: Service.Decoder
  private var input = 0
  /// That of the record that was begun.
  private var mac = ReceivedMAC()

  /// - Throws: `CryptoError` where libcrypto lacks what reading needs.
  package init(_ service: Service) throws(CryptoError) {
    topics = service.inputs.map(\.topic)
    isAuthenticated = topics.map(Topic.isAuthenticated(name:))
    check = try MessageMAC(ring: service.ring)
    decoder = try service.makeDecoder()
  }

  /// Begins a record; its headers follow, then ``finish(partition:arrival:identity:key:value:into:)``.
  package mutating func begin(
    input: Int, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
    into batch: inout InputBatch<Service.Event>
  ) {
    self.input = input
    mac.begin()
    decoder.begin()
    batch.raw.begin(key: key, value: value)
  }

  package mutating func header(
    name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?, into batch: inout InputBatch<Service.Event>
  ) {
    if isAuthenticated[input] { mac.header(name: name, value: value) }
    decoder.header(name: name, value: value)
    batch.raw.addHeader(name: name, value: value)
  }

  /// The record is a part of the batch.
  package mutating func finish(
    partition: Int32, arrival: Timestamp, identity: RecordIdentity, key: UnsafeRawBufferPointer?,
    value: UnsafeRawBufferPointer?, into batch: inout InputBatch<Service.Event>
  ) {
    let record = UndecodedRecord(input: input, arrival: arrival, identity: identity, raw: batch.raw.finish())
    let rejection =
      isAuthenticated[input]
      ? mac.rejection(by: check, topic: topics[input], partition: partition, key: key, value: value) : nil
    if let rejection {
      // Without a number, whatever it says: what is missing is noticed, and published again.
      batch.note(nil, input: input)
      batch.append(InputRecord(record, sequence: .unnumbered, event: .rejected(rejection)))
    } else {
      batch.note(isAuthenticated[input] ? mac.mark : nil, input: input)
      decoder.key(key)
      decoder.decode(record, value: value, into: &batch)
    }
  }
}
