# Three zones, each with a public subnet for the load balancer, a private one for pods and one for backends, which
# has no route to the internet.
data "aws_availability_zones" "main" {
  state = "available"
  filter {
    name   = "opt-in-status"
    values = ["opt-in-not-required"]
  }
}

locals {
  zones            = slice(data.aws_availability_zones.main.names, 0, 3)
  public_networks  = [for i in range(3) : cidrsubnet(var.network, 8, 240 + i)]
  backend_networks = [for i in range(3) : cidrsubnet(var.network, 8, 200 + i)]
}

resource "aws_vpc" "main" {
  cidr_block           = var.network
  enable_dns_support   = true
  enable_dns_hostnames = true
  tags                 = { Name = var.name }
}

# What has no security group of its own can neither reach nor be reached.
resource "aws_default_security_group" "main" {
  vpc_id = aws_vpc.main.id
}

resource "aws_subnet" "public" {
  count             = 3
  vpc_id            = aws_vpc.main.id
  availability_zone = local.zones[count.index]
  cidr_block        = local.public_networks[count.index]
  tags              = { Name = "${var.name}-public-${count.index}" }
}

resource "aws_subnet" "pods" {
  count             = 3
  vpc_id            = aws_vpc.main.id
  availability_zone = local.zones[count.index]
  cidr_block        = cidrsubnet(var.network, 4, count.index)
  tags              = { Name = "${var.name}-pods-${count.index}" }
}

resource "aws_subnet" "backends" {
  count             = 3
  vpc_id            = aws_vpc.main.id
  availability_zone = local.zones[count.index]
  cidr_block        = local.backend_networks[count.index]
  tags              = { Name = "${var.name}-backends-${count.index}" }
}

resource "aws_internet_gateway" "main" {
  vpc_id = aws_vpc.main.id
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.main.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.main.id
  }
}

resource "aws_route_table_association" "public" {
  count          = 3
  subnet_id      = aws_subnet.public[count.index].id
  route_table_id = aws_route_table.public.id
}

# A gateway for each zone: pods read key sets and pull images through it, and the loss of a zone must not cut off
# the other two.
resource "aws_eip" "nat" {
  count  = 3
  domain = "vpc"
}

resource "aws_nat_gateway" "main" {
  count         = 3
  allocation_id = aws_eip.nat[count.index].id
  subnet_id     = aws_subnet.public[count.index].id
  depends_on    = [aws_internet_gateway.main]
}

resource "aws_route_table" "pods" {
  count  = 3
  vpc_id = aws_vpc.main.id
  route {
    cidr_block     = "0.0.0.0/0"
    nat_gateway_id = aws_nat_gateway.main[count.index].id
  }
}

resource "aws_route_table_association" "pods" {
  count          = 3
  subnet_id      = aws_subnet.pods[count.index].id
  route_table_id = aws_route_table.pods[count.index].id
}

resource "aws_route_table" "backends" {
  vpc_id = aws_vpc.main.id
}

resource "aws_route_table_association" "backends" {
  count          = 3
  subnet_id      = aws_subnet.backends[count.index].id
  route_table_id = aws_route_table.backends.id
}

# The ports on which the backends take TLS connections with a password. The security group here and the network
# policy of the chart allow pods these and no others.
locals {
  backend_ports = { postgres = 5432, redis = 6379, kafka = 9096 }
}

resource "aws_security_group" "backends" {
  name_prefix = "${var.name}-backends-"
  description = "PostgreSQL, Redis and Kafka: reachable from pods only"
  vpc_id      = aws_vpc.main.id
  lifecycle { create_before_destroy = true }
}

resource "aws_vpc_security_group_ingress_rule" "backends" {
  for_each                     = local.backend_ports
  security_group_id            = aws_security_group.backends.id
  referenced_security_group_id = aws_eks_cluster.main.vpc_config[0].cluster_security_group_id
  ip_protocol                  = "tcp"
  from_port                    = each.value
  to_port                      = each.value
  description                  = each.key
}
