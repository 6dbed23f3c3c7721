# What the chart needs to know, and nothing secret. README.md says how to use each.
locals {
  from_edge  = [for network in local.public_networks : { ipBlock = { cidr = network } }]
  monitoring = { matchLabels = { "kubernetes.io/metadata.name" = "monitoring" } }
  from_prometheus = [{
    namespaceSelector = local.monitoring
    podSelector       = { matchLabels = { "app.kubernetes.io/name" = "prometheus" } }
  }]
  private_networks = ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"]
}

output "values" {
  description = "Values of the chart, for use after values-large.yaml"
  value = templatefile("${path.module}/values.yaml.tftpl", {
    brokers                  = aws_msk_cluster.main.bootstrap_brokers_sasl_scram
    kafka_user               = local.kafka_user
    rds_authorities          = local.rds_authorities
    jwks_url                 = var.jwks_url
    issuer                   = var.issuer
    proxies                  = join(",", local.public_networks)
    runtime_secret           = aws_secretsmanager_secret.runtime.name
    migrate_secret           = aws_secretsmanager_secret.migrate.name
    archive                  = "s3://${aws_s3_bucket.archive.bucket}/ledger?region=${var.region}"
    from_edge                = jsonencode(local.from_edge)
    from_prometheus_and_edge = jsonencode(concat(local.from_prometheus, local.from_edge))
    egress = jsonencode([
      {
        ports = [for port in values(local.backend_ports) : { port = port }]
        to    = [for network in local.backend_networks : { ipBlock = { cidr = network } }]
      },
      { ports = [{ port = 4317, endPort = 4318 }], to = [{ namespaceSelector = local.monitoring }] }, # traces
      # Key sets, the archive, webhooks: the internet, and no private network.
      {
        ports = [{ port = 443 }]
        to    = [{ ipBlock = { cidr = "0.0.0.0/0", except = local.private_networks } }]
      },
      # Credentials of the archive, from the agent of EKS Pod Identity.
      { ports = [{ port = 80 }], to = [{ ipBlock = { cidr = "169.254.170.23/32" } }] },
    ])
  })
}

output "target_groups" {
  description = "Manifests that register the pods of each component with the load balancer"
  value = join("---\n", [for component, group in aws_lb_target_group.main : yamlencode({
    apiVersion = "eks.amazonaws.com/v1"
    kind       = "TargetGroupBinding"
    metadata   = { name = "${var.name}-${component}", namespace = var.namespace }
    spec = {
      targetGroupARN = group.arn
      targetType     = "ip"
      serviceRef     = { name = "${var.name}-${component}", port = 80 }
    }
  })])
}

output "secret_store" {
  description = "Manifest of the store that externalSecrets.store of the chart names"
  value = yamlencode({
    apiVersion = "external-secrets.io/v1"
    kind       = "ClusterSecretStore"
    metadata   = { name = "aws" }
    spec = {
      provider   = { aws = { service = "SecretsManager", region = var.region } }
      conditions = [{ namespaces = [var.namespace] }]
    }
  })
}

output "cluster" {
  description = "Name of the cluster, for aws eks update-kubeconfig"
  value       = aws_eks_cluster.main.name
}
