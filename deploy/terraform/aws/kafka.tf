# Kafka, which carries committed changes to the ranking and increments that were accepted with 202. A message is
# acknowledged when two of its three replicas have it.
resource "aws_msk_configuration" "main" {
  name              = var.name
  kafka_versions    = [local.kafka_version]
  server_properties = <<-END
    default.replication.factor=3
    min.insync.replicas=2
    unclean.leader.election.enable=false
    auto.create.topics.enable=false
  END
}

locals {
  kafka_version = "3.9.x.kraft"
}

resource "aws_msk_cluster" "main" {
  cluster_name           = var.name
  kafka_version          = local.kafka_version
  number_of_broker_nodes = 3

  broker_node_group_info {
    instance_type   = var.kafka_class
    client_subnets  = aws_subnet.backends[*].id
    security_groups = [aws_security_group.backends.id]
    storage_info {
      ebs_storage_info { volume_size = 500 }
    }
  }
  configuration_info {
    arn      = aws_msk_configuration.main.arn
    revision = aws_msk_configuration.main.latest_revision
  }
  # SASL/SCRAM over TLS is the only way in.
  client_authentication {
    sasl { scram = true }
  }
  encryption_info {
    encryption_at_rest_kms_key_arn = aws_kms_key.main.arn
    encryption_in_transit {
      client_broker = "TLS"
      in_cluster    = true
    }
  }
}

resource "aws_msk_scram_secret_association" "main" {
  cluster_arn     = aws_msk_cluster.main.arn
  secret_arn_list = [aws_secretsmanager_secret.kafka.arn]
  depends_on      = [aws_secretsmanager_secret_version.kafka, aws_secretsmanager_secret_policy.kafka]
}
