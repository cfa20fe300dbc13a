"""docs/guides/cloud.md, carried out with real Terraform and an EC2 service on loopback. Lab hosts take the place of the instances."""
import base64
import ipaddress
import json
import re
import shlex
import shutil
import subprocess
import zipfile

import pytest
import yaml
from tests.docs.pages import ROOT, take
from tests.emit.ec2 import ARM_IMAGE, IMAGE, Module, missing_part, planned, service  # noqa: F401 (a fixture)
from tests.run.launchers import DEPS
from tests.waiting import patient, until

pytestmark = [pytest.mark.campaign, pytest.mark.lab, pytest.mark.skipif(bool(missing_part()), reason=missing_part())]

PAGE = "docs/guides/cloud.md"
EMIT, ENTER, INIT, APPLY = take(PAGE, "muster emit terraform ")
(APPLIED,) = take(PAGE, "Apply complete!")
OUTPUT, *LAUNCHER, LOGIN = take(PAGE, "terraform output -json ")
WORKERS = take(PAGE, "cloud-init status --wait")
DONE = take(PAGE, "--- ")
JOB = take(PAGE, "cd ~/job")
(RESULT,) = take(PAGE, "[10.77.0.5:0] ")
UNDO, DESTROY = take(PAGE, "muster setup --undo ")
(DESTROYED,) = take(PAGE, "Destroy complete!")

NETWORK = "198.18.200.0/24"
SSH_FROM = re.search(r"--ssh-from (\S+)", EMIT)[1]
# Stands in for cloud-init, which lab hosts do not have. Instances.boot applies the ssh settings of the user data.
CLOUD_INIT = "#!/bin/sh\n[ \"$*\" = 'status --wait' ] && echo 'status: done'\n"


@pytest.fixture(scope="module")
def module(muster, service, tmp_path_factory):  # noqa: F811
    """Runs the page's first line and terraform init. Returns the module in the folder with the files."""
    folder = tmp_path_factory.mktemp("guide")
    words = shlex.split(EMIT)
    subprocess.run([muster, *words[1:]], cwd=folder, check=True, capture_output=True, timeout=patient(30))
    assert ENTER == f"cd {words[words.index('--to') + 1]}"
    module = Module(folder / ENTER.removeprefix("cd "), service, NETWORK)
    print(module.run(*shlex.split(INIT), "-no-color"))  # prints the provider's version for the campaign's page
    return module


def private_keys(module):
    """Returns a line from the secret part of each private key."""
    return {path.name: path.read_text().splitlines()[-3] for path in (module.folder / "keys").iterdir() if path.suffix != ".pub"}


def test_terraform_finds_nothing_to_correct(module):
    assert "Success!" in module.run("terraform", "validate", "-no-color")
    written = ["main.tf", "variables.tf", "outputs.tf", "terraform.tfvars"]
    module.run("terraform", "fmt", "-check", "-diff", *written)


def test_only_the_cluster_itself_and_one_address_get_in(module):
    plan = module.plan()
    kinds = {change["type"] for change in plan["resource_changes"] if "security_group" in change["type"] or "network_acl" in change["type"]}
    assert kinds == {"aws_security_group"}
    (group,) = planned(plan, "aws_security_group").values()
    doors = sorted((rule["protocol"], rule["from_port"], rule["to_port"], rule["self"], rule["cidr_blocks"]) for rule in group["ingress"])
    assert doors == [("-1", 0, 0, True, []), ("tcp", 22, 22, False, [f"{SSH_FROM}/32"])]
    for rule in group["ingress"]:
        assert rule["ipv6_cidr_blocks"] == rule["prefix_list_ids"] == rule["security_groups"] == []
    assert any(rule["self"] and rule["protocol"] == "-1" for rule in group["egress"])  # EFA
    instances = planned(plan, "aws_instance")
    assert list(instances) == ["aws_instance.launcher", "aws_instance.worker[0]", "aws_instance.worker[1]"]
    for instance in instances.values():
        assert instance["metadata_options"][0]["http_tokens"] == "required"
        assert instance["root_block_device"][0]["encrypted"]


def test_every_disk_can_hold_a_large_image(module):
    disks = [instance["root_block_device"][0]["volume_size"] for instance in planned(module.plan("-var", "disk_gib=100"), "aws_instance").values()]
    assert disks == [100, 100, 100]  # the launcher too, because AWS rejects a disk that is smaller than the image


@pytest.mark.parametrize("wide", ["0.0.0.0/0", "203.0.113.0/24", ""])
def test_a_wider_door_is_refused_by_the_module_too(module, wide):
    assert "ssh_from" in module.run("terraform", "plan", "-input=false", "-no-color", "-var", f"ssh_from={wide}", code=1)


def test_more_workers_than_keys_are_refused(module):
    assert "muster emit terraform" in module.run("terraform", "plan", "-input=false", "-no-color", "-var", "workers=3", code=1)


@pytest.mark.parametrize(("kind", "cards"), [("c7i.2xlarge", 0), ("c5n.18xlarge", 1), ("p4d.24xlarge", 4), ("p5.48xlarge", 32)])
def test_efa_where_the_type_has_it(module, kind, cards):
    plan = module.plan("-var", f"worker_type={kind}", "-var", "placement_group=true")
    (placement,) = planned(plan, "aws_placement_group").values()
    assert placement["strategy"] == "cluster"
    templates = list(planned(plan, "aws_launch_template").values())
    assert len(templates) == (1 if cards else 0)
    interfaces = templates[0]["network_interfaces"] if cards else []
    assert [(one["interface_type"], one["network_card_index"], one["device_index"]) for one in interfaces] == [
        ("efa-only" if card else "efa", card, 1 if card else 0) for card in range(cards)]
    workers = [value for address, value in planned(plan, "aws_instance").items() if "worker" in address]
    for worker in workers:
        assert worker["placement_group"] == placement["name"]
        assert len(worker["launch_template"]) == (1 if cards else 0)
    # A public address comes from the instance, from its only interface, or as an elastic address.
    assert [worker.get("associate_public_ip_address") for worker in workers] == [None if cards else True] * 2
    assert cards != 1 or interfaces[0]["associate_public_ip_address"] == "true"
    assert len(planned(plan, "aws_eip")) == (2 if cards > 1 else 0)


@pytest.mark.parametrize(("launcher", "worker"), [("t3.micro", "c7i.2xlarge"), ("t3.micro", "c7g.2xlarge"), ("t4g.micro", "c7g.2xlarge")])
def test_each_instance_gets_an_image_of_its_architecture(module, launcher, worker):
    instances = planned(module.plan("-var", f"launcher_type={launcher}", "-var", f"worker_type={worker}"), "aws_instance")
    wanted = {"t3.micro": IMAGE, "c7i.2xlarge": IMAGE, "t4g.micro": ARM_IMAGE, "c7g.2xlarge": ARM_IMAGE}
    assert len(instances) == 3
    for instance in instances.values():
        assert instance["ami"] == wanted[instance["instance_type"]]["ami_id"], instance


def test_one_image_for_two_architectures_is_refused(module):
    words = ["terraform", "plan", "-input=false", "-no-color", "-var", "image=ami-0fedcba9876543210", "-var", "worker_type=c7g.2xlarge"]
    said = " ".join(module.run(*words, code=1).split())
    assert "launcher_type is amd64 and worker_type is arm64" in said, said
    module.plan("-var", "image=ami-0fedcba9876543210", "-var", "worker_type=c7g.2xlarge", "-var", "launcher_type=t4g.micro")


class Instances:
    """Lab hosts that take the place of the instances, configured by the instances' user data. The lab's launcher is the reader's
    machine, and n1 is the cluster's launcher."""

    def __init__(self, lab, outputs, service, login_key):  # noqa: F811
        self.lab, self.login_key = lab, login_key
        known = outputs["muster"]["value"]
        data = [service.user_data(instance) for instance in service.running()]
        by_key = {config["ssh_keys"]["ed25519_public"]: config["ssh_keys"] for config in map(yaml.safe_load, data)}
        assert len(by_key) == len(lab.hosts)
        status = {host["name"]: host for host in lab.status()["hosts"]}
        known["launcher"]["public"] = status["n1"]["addresses"][0]  # the service invents public addresses
        for host, instance in zip(lab.hosts, [known["launcher"], *known["workers"]], strict=True):
            assert ipaddress.ip_address(instance["private"]) in ipaddress.ip_network(NETWORK)
            self.boot(host, status[host]["interfaces"][0], instance["private"], by_key[instance["host_key"]])

    def boot(self, host, interface, address, keys):
        """Does what EC2 and cloud-init would do."""
        def root(script, **more):
            return self.lab.shell(host, script, root=True, **more)

        root(f"ip address add {address}/24 dev {interface}; ln -s {DEPS}/torch /opt/venv; useradd --create-home --shell /bin/bash --password '*' ubuntu")
        root("install -d -m 700 -o ubuntu -g ubuntu ~ubuntu/.ssh; cat > ~ubuntu/.ssh/authorized_keys; chmod 600 ~ubuntu/.ssh/authorized_keys;"
             " chown ubuntu: ~ubuntu/.ssh/authorized_keys", input=self.login_key)
        self.lab.write(host, "/usr/local/bin/cloud-init", CLOUD_INIT, mode="755", root=True)
        self.lab.write(host, "/etc/ssh/ssh_host_ed25519_key", keys["ed25519_private"], mode="600", root=True)
        self.lab.write(host, "/etc/ssh/ssh_host_ed25519_key.pub", keys["ed25519_public"] + "\n", root=True)
        root("kill -HUP $(cat /run/sshd.pid)")
        shown = "ssh-keyscan -t ed25519 127.0.0.1 2>/dev/null | cut -d' ' -f2-3"
        wanted = " ".join(keys["ed25519_public"].split()[:2])
        until(f"sshd of {host} shows the new key", lambda: root(shown).strip() == wanted, 20)


class Reader:
    """Somebody who follows the guide: types lines in ~/cloud on the lab's launcher, and from there on the cluster's launcher."""

    def __init__(self, lab):
        self.lab = lab

    def receives(self, folder, name):
        """Copies the folder to the reader's home."""
        packed = subprocess.run(["tar", "-C", folder, "--exclude=.terraform", "-c", "."], check=True, capture_output=True).stdout
        self.lab.shell("launcher", f"mkdir ~/{name} && base64 -d | tar -C ~/{name} -x --no-same-owner", input=base64.b64encode(packed).decode())

    def types(self, *lines, code=0):
        return self._type(lines, ["cd ~/cloud", *lines], code)

    def types_there(self, *lines, code=0):
        """Types the lines in a new shell on the cluster's launcher."""
        assert LOGIN == 'ssh "$launcher"'
        (address,) = [line for line in LAUNCHER if line.startswith("launcher=")]
        return self._type(lines, ["cd ~/cloud", address, f"{LOGIN} -n {shlex.quote('; '.join(['set -e', *lines]))}"], code)

    def _type(self, shown, lines, code):
        done = self.lab.exec("launcher", "bash", "-ec", "\n".join(lines), timeout=120)
        print("\n".join(f"$ {line}" for line in shown) + "\n" + done.stdout + done.stderr)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def applied(module):
    """Runs terraform apply, yields its output, and destroys everything at the end of the test."""
    text = module.run(*shlex.split(APPLY), "-no-color", input="yes\n")
    yield text
    module.run("terraform", "destroy", "-auto-approve", "-no-color")


@pytest.fixture
def reader(module, applied, service, lab_up, tmp_path):  # noqa: F811
    """A reader who has typed everything up to `terraform output`."""
    command, _, target = OUTPUT.partition(" > ")
    outputs = json.loads(module.run(*shlex.split(command)))
    lab = lab_up(hosts=3)
    Instances(lab, outputs, service, (module.folder / "keys/login.pub").read_text())
    (module.folder / target).write_text(json.dumps(outputs))
    (tmp_path / "job").mkdir()
    shutil.copy(ROOT / "examples/python/pi.py", tmp_path / "job")
    reader = Reader(lab)
    reader.receives(module.folder, "cloud")
    reader.receives(tmp_path / "job", "job")
    return reader


def test_no_private_key_is_in_state_or_output(module, applied):
    assert APPLIED in applied
    shown = applied + module.run("terraform", "output", "-json") + module.run("terraform", "show", "-json") + json.dumps(module.plan())
    stored = {path.name: path.read_bytes() for path in module.folder.glob("*.tfstate*")}
    with zipfile.ZipFile(module.folder / "test.tfplan") as plan:
        stored |= {f"test.tfplan: {name}": plan.read(name) for name in plan.namelist()}
    assert len(stored) > 2
    for name, secret in private_keys(module).items():
        assert secret not in shown, name
        assert [place for place, content in stored.items() if secret.encode() in content] == [], name


def test_the_guide_leads_to_a_job_and_leaves_nothing(module, service, reader):  # noqa: F811
    assert len(service.running()) == 3
    reader.types(*LAUNCHER)
    waited = reader.types_there(*WORKERS)
    assert DONE[-1] in waited and "2 hosts" in waited
    pi = r"pi is about 3\.1\d+: 2 ranks"
    assert re.search(pi, reader.types_there(*JOB)) and re.search(pi, RESULT)
    assert reader.lab.shell("n1", "ls ~ubuntu", root=True).split() == ["cluster.json", "hosts.txt", "job", "known.txt", "muster"]  # no login key is left
    (address,) = [line for line in LAUNCHER if line.startswith("launcher=")]
    reader.types(address, UNDO)
    assert reader.lab.exec("launcher", "test", "-e", f"/home/{reader.lab.user}/.ssh/muster").returncode != 0
    destroyed = module.run(*shlex.split(DESTROY), "-no-color", input="yes\n")
    assert DESTROYED in destroyed
    assert service.running() == []


def test_a_stranger_at_an_instances_address_is_refused(reader):
    """A host with a different key from the one that muster made is not set up, while the other worker is."""
    reader.types(*LAUNCHER)
    reader.lab.command("break", "n2", "host-key")
    reader.types_there(*WORKERS, code=4)
    assert len(reader.lab.shell("n2", "cat ~ubuntu/.ssh/authorized_keys", root=True).splitlines()) == 1  # nothing was added
    assert len(reader.lab.shell("n3", "cat ~ubuntu/.ssh/authorized_keys", root=True).splitlines()) == 2


def test_a_stranger_at_the_launchers_address_gets_no_login(reader):
    reader.lab.command("break", "n1", "host-key")
    reader.types(*LAUNCHER, code=4)
    assert reader.lab.shell("n1", "ls ~ubuntu", root=True) == ""
