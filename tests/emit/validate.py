"""Validates the Kubernetes objects on standard input and prints the kind of each, or why it is rejected. Runs with the Python of the
environment `schemas`.

kubernetes-validate has the schemas of Kubernetes itself. The Trainer's models know JobSet and TrainJob. They drop unknown fields, so an
object that they return unchanged has none.
"""
import sys

import kubernetes_validate
import yaml
from kubeflow_trainer_api import models

VERSION = "1.34"


def check_core(kind, version, spec):
    kubernetes_validate.validate({"apiVersion": version, "kind": kind, "metadata": {"name": "checked"}, "spec": spec}, VERSION, strict=True)


def check_model(model, value):
    back = model.from_dict(value).to_dict()
    assert back == value, f"{model.__name__} has read this instead:\n{yaml.safe_dump(back)}"


def check_job_set(spec):
    check_model(models.JobsetV1alpha2JobSetSpec, spec)
    for job in spec["replicatedJobs"]:
        check_core("Job", "batch/v1", job["template"]["spec"])
        check_core("Pod", "v1", job["template"]["spec"]["template"]["spec"])


def check_train_job(spec):
    check_model(models.TrainerV1alpha1TrainJobSpec, spec)


def check(value):
    assert set(value) == {"apiVersion", "kind", "metadata", "spec"}, sorted(value)
    known = {("jobset.x-k8s.io/v1alpha2", "JobSet"): check_job_set, ("trainer.kubeflow.org/v1alpha1", "TrainJob"): check_train_job}
    check_model(models.IoK8sApimachineryPkgApisMetaV1ObjectMeta, value["metadata"])
    known[value["apiVersion"], value["kind"]](value["spec"])


for one in yaml.safe_load_all(sys.stdin):
    try:
        check(one)
        print(one["kind"])
    except Exception as error:  # each schema raises its own exceptions
        print("refused:", " ".join(f"{type(error).__name__}: {error}".split()))
