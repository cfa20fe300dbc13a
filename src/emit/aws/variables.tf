variable "name" {
  description = "Name of everything that is created"
  type        = string
}

variable "region" {
  description = "AWS region"
  type        = string
}

variable "zone" {
  description = "Availability zone; null: AWS chooses"
  type        = string
  default     = null
}

variable "launcher_type" {
  description = "Instance type of the launcher, where you type muster run"
  type        = string
}

variable "worker_type" {
  description = "Instance type of the workers, which run the ranks"
  type        = string
}

variable "workers" {
  description = "Number of workers"
  type        = number
  validation {
    condition     = fileexists("${path.module}/keys/worker-${var.workers}")
    error_message = "There are not enough host keys in keys/. To change the number of workers, run muster emit terraform again with --nodes and --force."
  }
}

variable "ssh_from" {
  description = "The one IPv4 address that may log in by ssh"
  type        = string
  validation {
    condition     = can(cidrhost("${var.ssh_from}/32", 0))
    error_message = "ssh_from must be one IPv4 address, such as 203.0.113.7."
  }
}

variable "placement_group" {
  description = "Put the workers close together, for low latency"
  type        = bool
}

variable "image" {
  description = "Machine image (AMI) of Ubuntu; empty: Ubuntu 24.04. For GPUs, use an image that has the driver"
  type        = string
}

variable "user" {
  description = "The image's user for logins"
  type        = string
}

variable "disk_gib" {
  description = "Size of each instance's disk in GiB; at least the size of the image"
  type        = number
}

variable "network" {
  description = "Private addresses of the cluster"
  type        = string
  default     = "10.77.0.0/20"
}

variable "packages" {
  description = "Debian packages for all instances"
  type        = list(string)
  default     = ["openmpi-bin", "python3-venv", "rsync"]
}

variable "python_packages" {
  description = "Python packages for the workers, in the virtual environment /opt/venv"
  type        = list(string)
  default     = ["torch", "numpy"]
}
