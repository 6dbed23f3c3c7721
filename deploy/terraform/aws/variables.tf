# What differs between installations. Sizes are for the load of values-large.yaml; docs/runbook/capacity.md says
# how to choose them.
variable "region" {
  description = "Region of everything"
  type        = string
}

variable "name" {
  description = "Name of the installation: prefix of every resource, and release name of the chart"
  type        = string
  default     = "scoreboard"
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,19}$", var.name))
    error_message = "name must be 2 to 20 lower-case letters, digits and hyphens, and start with a letter."
  }
}

variable "namespace" {
  description = "Kubernetes namespace of the release"
  type        = string
  default     = "scoreboard"
}

variable "network" {
  description = "Address range of the VPC: a /16 that overlaps with no network it is peered with"
  type        = string
  default     = "10.40.0.0/16"
  validation {
    condition     = can(cidrnetmask(var.network)) && endswith(var.network, "/16")
    error_message = "network must be an IPv4 range with 16 bits, such as 10.40.0.0/16."
  }
}

variable "operator_networks" {
  description = "Networks that may reach the Kubernetes API over the internet; if empty, only the VPC may"
  type        = list(string)
  default     = []
}

variable "host" {
  description = "Host name of the API, such as scores.example.com"
  type        = string
}

variable "zone_id" {
  description = "Route 53 zone of the host name"
  type        = string
}

variable "jwks_url" {
  description = "Key set of the identity provider (auth.jwks_url)"
  type        = string
}

variable "issuer" {
  description = "Issuer of the bearer tokens (auth.issuer)"
  type        = string
}

variable "master_keys" {
  description = "Names of the master keys: one, or two while the second is replaced by the first"
  type        = list(string)
  default     = ["1"]
  validation {
    condition     = contains([1, 2], length(var.master_keys)) && length(distinct(var.master_keys)) == length(var.master_keys)
    error_message = "master_keys must be one or two different names."
  }
}

variable "kubernetes_version" {
  description = "Version of EKS; the chart needs 1.30"
  type        = string
  default     = "1.34"
}

variable "postgres_class" {
  description = "Class of the database instance; its memory decides how many connections PostgreSQL accepts"
  type        = string
  default     = "db.r7g.xlarge"
}

variable "redis_class" {
  description = "Class of each Redis node"
  type        = string
  default     = "cache.r7g.large"
}

variable "redis_shards" {
  description = "Number of primaries of the Redis Cluster, each with a replica in another zone"
  type        = number
  default     = 3
}

variable "kafka_class" {
  description = "Class of each of the three brokers"
  type        = string
  default     = "kafka.m7g.large"
}

variable "requests_per_address" {
  description = "Requests in 5 minutes above which the firewall answers an address, or a shared proxy, with 429"
  type        = number
  default     = 30000
}

variable "joins_per_address" {
  description = "The same for requests that open a stream"
  type        = number
  default     = 1500
}
