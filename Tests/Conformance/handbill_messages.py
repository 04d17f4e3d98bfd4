"""Handbill's messages for Google's protobuf, from a file descriptor set with all imports, as protoc writes it."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def read(path):
    """The message classes by their full names."""
    with open(path, "rb") as file:
        descriptors = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for file in descriptors.file:
        pool.Add(file)
    names = [
        f"{file.package}.{message.name}" for file in descriptors.file for message in file.message_type
        if file.package == "handbill.v1"
    ]
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names}
