"""Checks the examples of an AsyncAPI document against the schemas of the same document.

usage: asyncapi_examples.py DOCUMENT
Prints each example as one line of JSON: message, headers, payload. Ends with an error at the first that is not valid.
"""

import json
import sys

import jsonschema
import yaml


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        document = yaml.safe_load(file)
    for name, message in document["components"]["messages"].items():
        for example in message.get("examples", []):
            for part, schema in (("headers", message["headers"]), ("payload", message["payload"])):
                # The references in it are resolved against the whole document.
                validator = jsonschema.Draft7Validator({**schema, "components": document["components"]})
                validator.validate(example[part])
            print(json.dumps({"message": name, "headers": example["headers"], "payload": example["payload"]}))


if __name__ == "__main__":
    main()
