# Passwords are made here and go to Secrets Manager. The External Secrets operator copies them to the two secrets of
# the chart; nobody types them.
locals {
  postgres_owner   = "scoreboard"
  postgres_runtime = "scoreboard_runtime" # sbctl migrate up creates it
  kafka_user       = "scoreboard"
  rds_authorities  = "/etc/scoreboard/rds/global-bundle.pem" # where the chart mounts it

  passwords = { for user, each in random_password.main : user => each.result }
  # During a failover the old primary may still answer under the same name, read-only.
  database        = "${aws_db_instance.main.endpoint}/${aws_db_instance.main.db_name}${local.session}"
  session         = "?sslmode=verify-full&target_session_attrs=read-write"
  postgres_url    = "postgres://${local.postgres_runtime}:${local.passwords.postgres_runtime}@${local.database}"
  postgres_direct = "postgres://${local.postgres_owner}:${local.passwords.postgres_owner}@${local.database}"
  redis_host      = aws_elasticache_replication_group.main.configuration_endpoint_address
  redis_url       = "rediss+cluster://:${local.passwords.redis}@${local.redis_host}:${local.backend_ports.redis}"
}

# Letters and digits, which URLs need not escape.
resource "random_password" "main" {
  for_each = toset(["postgres_owner", "postgres_runtime", "redis", "kafka"])
  length   = 48
  special  = false
}

resource "random_bytes" "master_key" {
  for_each = toset(var.master_keys)
  length   = 32
}

moved {
  from = random_bytes.master_key
  to   = random_bytes.master_key["1"]
}

resource "aws_kms_key" "main" {
  description         = "Data and secrets of ${var.name}"
  enable_key_rotation = true
}

resource "aws_secretsmanager_secret" "runtime" {
  name       = "${var.name}/runtime"
  kms_key_id = aws_kms_key.main.arn
}

resource "aws_secretsmanager_secret_version" "runtime" {
  secret_id = aws_secretsmanager_secret.runtime.id
  secret_string = jsonencode({
    SCOREBOARD_POSTGRES_URL        = local.postgres_url
    SCOREBOARD_REDIS_URL           = local.redis_url
    SCOREBOARD_KAFKA_SASL_PASSWORD = local.passwords.kafka
    SCOREBOARD_AUTH_MASTER_KEY     = join(",", [for name in var.master_keys : random_bytes.master_key[name].hex])
  })
}

# Apart from the first, because the daemon must never have the owner's password.
resource "aws_secretsmanager_secret" "migrate" {
  name       = "${var.name}/migrate"
  kms_key_id = aws_kms_key.main.arn
}

resource "aws_secretsmanager_secret_version" "migrate" {
  secret_id = aws_secretsmanager_secret.migrate.id
  secret_string = jsonencode({
    SCOREBOARD_POSTGRES_DIRECT_URL = local.postgres_direct
    SCOREBOARD_POSTGRES_URL        = local.postgres_url
    SCOREBOARD_POSTGRES_TLS_CA     = local.rds_authorities
  })
}

# The user of Kafka, in the form, and with the prefix of the name, that MSK demands.
resource "aws_secretsmanager_secret" "kafka" {
  name       = "AmazonMSK_${var.name}"
  kms_key_id = aws_kms_key.main.arn
}

resource "aws_secretsmanager_secret_version" "kafka" {
  secret_id     = aws_secretsmanager_secret.kafka.id
  secret_string = jsonencode({ username = local.kafka_user, password = local.passwords.kafka })
}

data "aws_iam_policy_document" "kafka_secret" {
  statement {
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [aws_secretsmanager_secret.kafka.arn]
    principals {
      type        = "Service"
      identifiers = ["kafka.amazonaws.com"]
    }
  }
}

resource "aws_secretsmanager_secret_policy" "kafka" {
  secret_arn = aws_secretsmanager_secret.kafka.arn
  policy     = data.aws_iam_policy_document.kafka_secret.json
}

# The External Secrets operator may read the two secrets, and pods may not.
data "aws_iam_policy_document" "external_secrets_trust" {
  statement {
    actions = ["sts:AssumeRole", "sts:TagSession"]
    principals {
      type        = "Service"
      identifiers = ["pods.eks.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "external_secrets" {
  statement {
    actions   = ["secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"]
    resources = [aws_secretsmanager_secret.runtime.arn, aws_secretsmanager_secret.migrate.arn]
  }
  statement {
    actions   = ["kms:Decrypt"]
    resources = [aws_kms_key.main.arn]
  }
}

resource "aws_iam_role" "external_secrets" {
  name               = "${var.name}-external-secrets"
  assume_role_policy = data.aws_iam_policy_document.external_secrets_trust.json
}

resource "aws_iam_role_policy" "external_secrets" {
  role   = aws_iam_role.external_secrets.id
  policy = data.aws_iam_policy_document.external_secrets.json
}

resource "aws_eks_pod_identity_association" "external_secrets" {
  cluster_name    = aws_eks_cluster.main.name
  namespace       = "external-secrets"
  service_account = "external-secrets"
  role_arn        = aws_iam_role.external_secrets.arn
}
