# Written by "muster emit terraform". The values are in terraform.tfvars.
terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = {
      source = "hashicorp/aws"
      # Version 5 stores only a hash of user_data in the state. Version 6 would store the private host keys in it.
      # Before 5.74 there is no interface type efa-only.
      version = "~> 5.74"
    }
  }
}

provider "aws" {
  region = var.region
  default_tags {
    tags = { Name = var.name }
  }
}

# --- network: one subnet, so that all instances are in one availability zone

resource "aws_vpc" "cluster" {
  cidr_block           = var.network
  enable_dns_hostnames = true
}

resource "aws_subnet" "cluster" {
  vpc_id            = aws_vpc.cluster.id
  cidr_block        = var.network
  availability_zone = var.zone
}

resource "aws_internet_gateway" "cluster" {
  vpc_id = aws_vpc.cluster.id
}

resource "aws_route_table" "cluster" {
  vpc_id = aws_vpc.cluster.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.cluster.id
  }
}

resource "aws_route_table_association" "cluster" {
  subnet_id      = aws_subnet.cluster.id
  route_table_id = aws_route_table.cluster.id
}

resource "aws_security_group" "cluster" {
  name        = var.name
  description = "All traffic inside the cluster, ssh from one address"
  vpc_id      = aws_vpc.cluster.id

  ingress {
    description = "all traffic between the instances"
    protocol    = "-1"
    from_port   = 0
    to_port     = 0
    self        = true
  }
  ingress {
    description = "ssh from one address"
    protocol    = "tcp"
    from_port   = 22
    to_port     = 22
    cidr_blocks = ["${var.ssh_from}/32"]
  }
  egress {
    description = "all traffic between the instances; EFA needs this rule besides the next one"
    protocol    = "-1"
    from_port   = 0
    to_port     = 0
    self        = true
  }
  egress {
    description = "packages"
    protocol    = "-1"
    from_port   = 0
    to_port     = 0
    cidr_blocks = ["0.0.0.0/0"]
  }
}

# --- what the instances are

data "aws_ec2_instance_type" "launcher" {
  instance_type = var.launcher_type
}

data "aws_ec2_instance_type" "worker" {
  instance_type = var.worker_type
}

# One image for each architecture, because the launcher and the workers may differ.
data "aws_ami" "ubuntu" {
  for_each    = var.image == "" ? toset([local.launcher_machine, local.worker_machine]) : []
  most_recent = true
  owners      = ["099720109477"] # Canonical
  filter {
    name   = "name"
    values = ["ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-${each.key}-server-*"]
  }
}

locals {
  # "arm64" (Graviton) or "amd64", as Ubuntu calls x86_64.
  launcher_machine = contains(data.aws_ec2_instance_type.launcher.supported_architectures, "arm64") ? "arm64" : "amd64"
  worker_machine   = contains(data.aws_ec2_instance_type.worker.supported_architectures, "arm64") ? "arm64" : "amd64"
  launcher_image   = var.image == "" ? data.aws_ami.ubuntu[local.launcher_machine].id : var.image
  worker_image     = var.image == "" ? data.aws_ami.ubuntu[local.worker_machine].id : var.image

  # EFA interfaces of each worker, one per network card; 0 if the type has none.
  efa = data.aws_ec2_instance_type.worker.efa_supported ? data.aws_ec2_instance_type.worker.efa_maximum_interfaces : 0

  workers         = [for number in range(1, var.workers + 1) : "worker-${number}"]
  host_key        = { for host in concat(["launcher"], local.workers) : host => trimspace(file("${path.module}/keys/${host}.pub")) }
  efa_packages    = local.efa > 0 ? ["rdma-core", "ibverbs-providers", "libfabric-bin"] : []
  launcher_config = { packages = var.packages, python_packages = [] }
  worker_config   = { packages = concat(var.packages, local.efa_packages), python_packages = var.python_packages }
}

resource "aws_key_pair" "login" {
  key_name   = var.name
  public_key = trimspace(file("${path.module}/keys/login.pub"))
}

resource "aws_placement_group" "workers" {
  count    = var.placement_group ? 1 : 0
  name     = var.name
  strategy = "cluster"
}

resource "aws_instance" "launcher" {
  ami                         = local.launcher_image
  instance_type               = var.launcher_type
  key_name                    = aws_key_pair.login.key_name
  subnet_id                   = aws_subnet.cluster.id
  vpc_security_group_ids      = [aws_security_group.cluster.id]
  associate_public_ip_address = true
  user_data = templatefile("${path.module}/cloud-init.yaml.tftpl", merge(local.launcher_config, {
    host_key        = sensitive(file("${path.module}/keys/launcher"))
    host_key_public = local.host_key["launcher"]
  }))

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }
  root_block_device {
    volume_size = var.disk_gib # AWS refuses a disk that is smaller than the image
    encrypted   = true
  }
  lifecycle {
    ignore_changes = [ami] # a newer image replaces no running instance
    precondition {
      condition     = var.image == "" || local.launcher_machine == local.worker_machine
      error_message = "All instances get the image ${var.image}, but launcher_type is ${local.launcher_machine} and worker_type is ${local.worker_machine}. Choose two types of the image's architecture."
    }
  }
  depends_on = [aws_route_table_association.cluster]
}

resource "aws_instance" "worker" {
  count                       = var.workers
  ami                         = local.worker_image
  instance_type               = var.worker_type
  key_name                    = aws_key_pair.login.key_name
  placement_group             = one(aws_placement_group.workers[*].name)
  subnet_id                   = local.efa == 0 ? aws_subnet.cluster.id : null
  vpc_security_group_ids      = local.efa == 0 ? [aws_security_group.cluster.id] : null
  associate_public_ip_address = local.efa == 0 ? true : null
  user_data = templatefile("${path.module}/cloud-init.yaml.tftpl", merge(local.worker_config, {
    host_key        = sensitive(file("${path.module}/keys/${local.workers[count.index]}"))
    host_key_public = local.host_key[local.workers[count.index]]
  }))

  dynamic "launch_template" {
    for_each = aws_launch_template.efa
    content {
      id = launch_template.value.id
    }
  }
  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }
  root_block_device {
    volume_size = var.disk_gib
    encrypted   = true
  }
  lifecycle {
    ignore_changes = [ami]
  }
  depends_on = [aws_route_table_association.cluster]
}

# --- EFA, where the type has it

resource "aws_launch_template" "efa" {
  count       = local.efa > 0 ? 1 : 0
  name_prefix = "${var.name}-"

  dynamic "network_interfaces" {
    for_each = range(local.efa)
    content {
      interface_type              = network_interfaces.value == 0 ? "efa" : "efa-only"
      network_card_index          = network_interfaces.value
      device_index                = network_interfaces.value == 0 ? 0 : 1
      subnet_id                   = aws_subnet.cluster.id
      security_groups             = [aws_security_group.cluster.id]
      associate_public_ip_address = local.efa == 1 ? true : null
      delete_on_termination       = true
    }
  }
}

# AWS assigns no public address by itself to an instance with several interfaces.
resource "aws_eip" "worker" {
  count             = local.efa > 1 ? var.workers : 0
  domain            = "vpc"
  network_interface = aws_instance.worker[count.index].primary_network_interface_id
}
