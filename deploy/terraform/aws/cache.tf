# Redis Cluster (Valkey), a cache that is rebuilt from PostgreSQL: each primary has a replica in another zone, so
# that reads need not fall back to PostgreSQL when a node dies.
resource "aws_elasticache_subnet_group" "main" {
  name       = var.name
  subnet_ids = aws_subnet.backends[*].id
}

resource "aws_elasticache_parameter_group" "main" {
  name   = "${var.name}-valkey8"
  family = "valkey8"
  parameter {
    name  = "cluster-enabled"
    value = "yes"
  }
  # A ranking of which Redis evicted keys would be wrong; sbctl doctor reports any other policy.
  parameter {
    name  = "maxmemory-policy"
    value = "noeviction"
  }
}

resource "aws_elasticache_replication_group" "main" {
  replication_group_id = var.name
  description          = "Rankings, limits and notices of ${var.name}"
  engine               = "valkey"
  engine_version       = "8.0"
  node_type            = var.redis_class
  parameter_group_name = aws_elasticache_parameter_group.main.name
  port                 = local.backend_ports.redis

  num_node_groups            = var.redis_shards
  replicas_per_node_group    = 1
  automatic_failover_enabled = true
  multi_az_enabled           = true

  subnet_group_name          = aws_elasticache_subnet_group.main.name
  security_group_ids         = [aws_security_group.backends.id]
  transit_encryption_enabled = true
  auth_token                 = local.passwords.redis
  at_rest_encryption_enabled = true
  kms_key_id                 = aws_kms_key.main.arn
  snapshot_retention_limit   = 1
}
