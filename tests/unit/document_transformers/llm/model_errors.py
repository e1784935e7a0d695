"""Errors as the client libraries of models raise them."""

from __future__ import annotations

import httpx2
import openai

REQUEST = httpx2.Request("POST", "http://model/v1/chat/completions")


def of_openai(status, code=None, headers=None, kind=openai.APIStatusError):
    response = httpx2.Response(status, headers=headers, request=REQUEST)
    return kind("It failed.", response=response, body={"code": code, "type": code})


def named(name, base=Exception, **attributes):
    """Make an error of a library that is not installed."""
    module, _, name = name.rpartition(".")
    error = type(name, (base,), {"__module__": module})("It failed.")
    for key, value in attributes.items():
        setattr(error, key, value)
    return error


def of_aws(code, status=400, headers=None):
    metadata = {"HTTPStatusCode": status, "HTTPHeaders": headers or {}}
    response = {"Error": {"Code": code, "Message": "No."}, "ResponseMetadata": metadata}
    return named("botocore.exceptions.ClientError", response=response)


def caused(error, cause):
    error.__cause__ = cause
    return error


def meanwhile(error, context):
    error.__context__ = context
    return error


class EvilError(Exception):
    @property
    def response(self):
        msg = "not read yet"
        raise RuntimeError(msg)
