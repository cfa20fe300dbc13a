"""Terraform with an EC2 service on loopback (moto). Nothing here contacts a cloud."""
import base64
import json
import os
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from tests.waiting import patient, until

REGION = "us-east-1"
IMAGE = {"ami_id": "ami-0123456789abcdef0", "name": "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20260101", "owner_id": "099720109477",
         "architecture": "x86_64", "description": "", "hypervisor": "xen", "image_location": "", "image_type": "machine", "platform": None, "public": True,
         "root_device_name": "/dev/sda1", "root_device_type": "ebs", "sriov": "simple", "state": "available", "virtualization_type": "hvm",
         "creation_date": "2026-01-01T00:00:00.000Z"}
ARM_IMAGE = IMAGE | {"ami_id": "ami-0fedcba9876543210", "name": IMAGE["name"].replace("amd64", "arm64"), "architecture": "arm64"}
# Sends requests to the service, with few retries, and skips the checks for which the provider would need an account.
OVERRIDE = """\
provider "aws" {{
  skip_credentials_validation = true
  skip_requesting_account_id  = true
  skip_metadata_api_check     = true
  max_retries                 = 1
  endpoints {{
    ec2 = "{url}"
  }}
}}
"""


def plugin_folder():
    """Returns a folder with Terraform's AWS provider, or None."""
    named = os.environ.get("MUSTER_TERRAFORM_PLUGINS")
    likely = [Path(named)] if named else [Path.home() / ".terraform.d/plugins", Path("/usr/share/terraform/plugins"), *Path("/opt").glob("*")]
    return next((one for one in likely if (one / "registry.terraform.io/hashicorp/aws").is_dir()), None)


def missing_part():
    """Returns why these tests cannot run here, or "" if they can."""
    for program in ("terraform", "moto_server"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return "" if plugin_folder() else "Terraform's AWS provider is in no folder; name one with MUSTER_TERRAFORM_PLUGINS"


class Service:
    """An EC2 service on loopback that has only the two images which the module looks for."""

    def __init__(self, folder: Path):
        images = folder / "images.json"
        images.write_text(json.dumps([IMAGE, ARM_IMAGE]))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = (folder / "service.log").open("w")
        self.process = subprocess.Popen(["moto_server", "-H", "127.0.0.1", "-p", str(port)], stdout=self.log, stderr=subprocess.STDOUT,
                                        env=os.environ | {"MOTO_AMIS_PATH": str(images)})
        until("the EC2 service answers", self.answers, 30)

    def answers(self):
        assert self.process.poll() is None, "moto_server has ended"
        try:
            return "<" in self.ask(Action="DescribeVpcs")
        except (urllib.error.URLError, ConnectionError):
            return False

    def ask(self, **words):
        """Makes one call to EC2's interface. moto does not check signatures."""
        scope = f"Credential=test/20260101/{REGION}/ec2/aws4_request, SignedHeaders=host, Signature=0"
        request = urllib.request.Request(self.url, urllib.parse.urlencode({"Version": "2016-11-15"} | words).encode(),
                                         {"Authorization": f"AWS4-HMAC-SHA256 {scope}"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        return opener.open(request, timeout=patient(10)).read().decode()

    def running(self):
        """Returns the ids of the running instances, which would cost money."""
        answer = self.ask(Action="DescribeInstances", **{"Filter.1.Name": "instance-state-name", "Filter.1.Value.1": "running"})
        return re.findall(r"<instanceId>([^<]+)", answer)

    def user_data(self, instance):
        answer = self.ask(Action="DescribeInstanceAttribute", InstanceId=instance, Attribute="userData")
        return base64.b64decode(re.search(r"<userData>\s*<value>([^<]+)", answer)[1]).decode()

    def stop(self):
        self.process.terminate()
        self.process.wait(patient(10))
        self.log.close()


class Module:
    """A folder written by `muster emit terraform`, configured to use the service on loopback."""

    def __init__(self, folder: Path, service: Service, network: str):
        self.folder = folder
        (folder / "test_override.tf").write_text(OVERRIDE.format(url=service.url))
        settings = folder / "terraform.rc"
        settings.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{plugin_folder()}"\n  }}\n}}\n')
        self.env = {key: value for key, value in os.environ.items() if "proxy" not in key.lower() and not key.startswith(("AWS_", "TF_"))} | {
            "TF_CLI_CONFIG_FILE": str(settings), "TF_VAR_network": network, "CHECKPOINT_DISABLE": "1", "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}

    def run(self, *argv, input=None, code=0):
        done = subprocess.run(argv, cwd=self.folder, env=self.env, input=input, capture_output=True, text=True, timeout=patient(120))
        assert done.returncode == code, f"{argv}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr if code else done.stdout

    def plan(self, *flags):
        """Returns the plan as JSON."""
        self.run("terraform", "plan", "-input=false", "-out=test.tfplan", *flags)
        return json.loads(self.run("terraform", "show", "-json", "test.tfplan"))


def planned(plan, kind):
    """Returns the planned resources of this type, by address."""
    changes = {change["address"]: change["change"]["after"] for change in plan["resource_changes"] if change["type"] == kind and change["mode"] == "managed"}
    return dict(sorted(changes.items()))


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("ec2"))
    yield service
    service.stop()
