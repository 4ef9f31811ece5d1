# SPDX-License-Identifier: Apache-2.0
"""clients.py - what the published clients of Lepton and run:ai make of request bodies.

    clients.py     [[KIND, BODY], ...] on standard input, one answer for each on standard output

Runs in a python that has both clients. A body is read into the client's own model, which is turned back into what the
client would send: {"back": BODY}. {"refused": WHY} when the model or the client's own check does not take it.
"""
import json
import sys

import runai.models
from leptonai.api.v2.api_resource import APIResourse
from leptonai.api.v2.job_validation import validate_job_create
from leptonai.api.v2.types.job import LeptonJob, LeptonJobUserSpec
from leptonai.api.v2.types.secret import SecretItem
from runai.api_client import ApiClient

serialize = ApiClient.sanitize_for_serialization


def lepton(model, check=lambda made: None):
    def back(body):
        made = model(**body)
        check(made)
        return APIResourse.safe_json(None, made)
    return back


def run_ai(name):
    model = getattr(runai.models, name)
    return lambda body: serialize(Sender, model.from_dict(body))


class Sender:
    """As much of their client as its serializer asks for."""
    sanitize_for_serialization = classmethod(serialize)


secret = lepton(SecretItem)
stopped = lepton(LeptonJobUserSpec)
KINDS = {
    "lepton-job": lepton(LeptonJob, validate_job_create),
    "lepton-patch": lambda body: {"spec": stopped(body["spec"])},
    "lepton-secrets": lambda body: [secret(item) for item in body],
    "runai-token": run_ai("TokenRequest"),
    "runai-training": run_ai("TrainingCreationRequest"),
    "runai-distributed": run_ai("DistributedCreationRequest"),
    "runai-workspace": run_ai("WorkspaceCreationRequest"),
    "runai-docker-registry": run_ai("DockerRegistryCreationRequest"),
    "runai-generic-secret": run_ai("GenericSecretCreationRequest"),
    "runai-batch": run_ai("WorkloadBatch"),
}


def answer(kind, body):
    try:
        return {"back": KINDS[kind](body)}
    except (ValueError, TypeError, KeyError, AttributeError) as why:
        return {"refused": f"{type(why).__name__}: {why}"}


for kind, body in json.load(sys.stdin):
    print(json.dumps(answer(kind, body)))
