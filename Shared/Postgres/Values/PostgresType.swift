/// The object ids of PostgreSQL's own types (fixed, in its catalogue `pg_type`).
package enum PostgresType {
  package static let bool: UInt32 = 16
  package static let bytea: UInt32 = 17
  package static let name: UInt32 = 19
  package static let int8: UInt32 = 20
  package static let int2: UInt32 = 21
  package static let int4: UInt32 = 23
  package static let text: UInt32 = 25
  package static let oid: UInt32 = 26
  package static let json: UInt32 = 114
  package static let float4: UInt32 = 700
  package static let float8: UInt32 = 701
  package static let unknown: UInt32 = 705
  package static let char: UInt32 = 1042
  package static let varchar: UInt32 = 1043
  package static let date: UInt32 = 1082
  package static let timestamptz: UInt32 = 1184
  package static let numeric: UInt32 = 1700
  package static let uuid: UInt32 = 2950
  package static let jsonb: UInt32 = 3802

  package static let boolArray: UInt32 = 1000
  package static let byteaArray: UInt32 = 1001
  package static let int2Array: UInt32 = 1005
  package static let int4Array: UInt32 = 1007
  package static let textArray: UInt32 = 1009
  package static let int8Array: UInt32 = 1016
  package static let float8Array: UInt32 = 1022
  package static let dateArray: UInt32 = 1182
  package static let timestamptzArray: UInt32 = 1185
  package static let numericArray: UInt32 = 1231
  package static let uuidArray: UInt32 = 2951
  package static let jsonbArray: UInt32 = 3807
}
