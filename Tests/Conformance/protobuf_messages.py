"""Reads and writes Handbill's messages with Google's protobuf.

usage: protobuf_messages.py DESCRIPTORS
DESCRIPTORS is a file descriptor set with all imports, as protoc writes it.

Each line of the input is a message: its full name, its protobuf form, its JSON as Handbill writes it (both in
hexadecimal). Each line of the output says, in hexadecimal: the protobuf form written again, the protobuf form made from
that JSON, and the JSON as Google writes it in three ways: usual, with the schema's names and enums as numbers, and with
every default. An input that Google refuses gives a line that begins with "error".
"""

import sys

from google.protobuf import json_format

import handbill_messages


def answer(messages, line):
    name, wire, text = line.rstrip("\n").split("\t")
    make = messages[name]
    message = make.FromString(bytes.fromhex(wire))
    from_json = json_format.Parse(bytes.fromhex(text).decode("utf-8"), make())
    return [
        message.SerializeToString(deterministic=True),
        from_json.SerializeToString(deterministic=True),
        json_format.MessageToJson(message).encode(),
        json_format.MessageToJson(message, preserving_proto_field_name=True, use_integers_for_enums=True).encode(),
        json_format.MessageToJson(message, always_print_fields_with_no_presence=True, ensure_ascii=False).encode(),
    ]


def main():
    messages = handbill_messages.read(sys.argv[1])
    for line in sys.stdin:
        try:
            print("\t".join(part.hex() for part in answer(messages, line)))
        except Exception as error:  # Whatever Google's reader refuses is a result here.
            print("error", " ".join(str(error).split()))


if __name__ == "__main__":
    main()
