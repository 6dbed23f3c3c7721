# PostgreSQL, the only place where scores must not be lost. A standby in another zone has every commit before it is
# acknowledged, so a failover loses none; backups go back to any second of two weeks.
resource "aws_db_subnet_group" "main" {
  name       = var.name
  subnet_ids = aws_subnet.backends[*].id
}

resource "aws_db_parameter_group" "main" {
  name_prefix = "${var.name}-"
  family      = "postgres17"
  # Connections without TLS are rejected.
  parameter {
    name  = "rds.force_ssl"
    value = "1"
  }
  lifecycle { create_before_destroy = true }
}

resource "aws_db_instance" "main" {
  identifier     = var.name
  engine         = "postgres"
  engine_version = "17"
  # db.r7g.xlarge accepts about 3,400 connections. All components of values-large.yaml at their maximum open
  # 2,400, so no PgBouncer stands between.
  instance_class       = var.postgres_class
  multi_az             = true
  db_name              = "scoreboard"
  username             = local.postgres_owner
  password             = local.passwords.postgres_owner
  parameter_group_name = aws_db_parameter_group.main.name

  db_subnet_group_name   = aws_db_subnet_group.main.name
  vpc_security_group_ids = [aws_security_group.backends.id]
  ca_cert_identifier     = "rds-ca-rsa2048-g1"

  storage_type          = "gp3"
  allocated_storage     = 400
  max_allocated_storage = 4000
  storage_encrypted     = true
  kms_key_id            = aws_kms_key.main.arn

  backup_retention_period      = 14
  copy_tags_to_snapshot        = true
  deletion_protection          = true
  final_snapshot_identifier    = "${var.name}-final"
  performance_insights_enabled = true
  auto_minor_version_upgrade   = true
}
