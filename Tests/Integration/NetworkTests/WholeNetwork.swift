import Testing

/// The tests of whole networks: one at a time, for each has a broker, a database and all services.
@Suite(.serialized, .timeLimit(.minutes(10)))
enum WholeNetwork {}
