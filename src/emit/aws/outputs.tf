# "muster hosts --terraform" reads this. It holds no secret.
output "muster" {
  description = "Addresses and public host keys"
  value = {
    user = var.user
    launcher = {
      public   = aws_instance.launcher.public_ip
      private  = aws_instance.launcher.private_ip
      host_key = local.host_key["launcher"]
    }
    workers = [for number, worker in aws_instance.worker : {
      public   = local.efa > 1 ? aws_eip.worker[number].public_ip : worker.public_ip
      private  = worker.private_ip
      host_key = local.host_key[local.workers[number]]
    }]
  }
}
