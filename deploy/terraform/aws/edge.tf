# The way in: a load balancer that ends TLS, with a firewall in front. It is made here and not by a controller, so
# that nothing in the cluster can open another one.
locals {
  # Component and paths: the same as ingress.paths in values-large.yaml.
  components = {
    api     = ["/"]
    read    = ["/v1/leaderboard"]
    gateway = ["/v1/realtime", "/v1/ws/leaderboard", "/delta/v1/leaderboard/ws", "/leaderboard/stream"]
  }
  # A rule of a load balancer has at most five patterns: those of two paths.
  routes = merge([for component, paths in local.components : {
    for i, some in chunklist(paths, 2) : "${component}-${i}" => { component = component, paths = some }
  } if component != "api"]...)
  ports = { http = 8080, ops = 8081 }
}

resource "aws_acm_certificate" "main" {
  domain_name       = var.host
  validation_method = "DNS"
  lifecycle { create_before_destroy = true }
}

resource "aws_route53_record" "validation" {
  for_each = { for o in aws_acm_certificate.main.domain_validation_options : o.domain_name => o }
  zone_id  = var.zone_id
  name     = each.value.resource_record_name
  type     = each.value.resource_record_type
  records  = [each.value.resource_record_value]
  ttl      = 300
}

resource "aws_acm_certificate_validation" "main" {
  certificate_arn         = aws_acm_certificate.main.arn
  validation_record_fqdns = [for r in aws_route53_record.validation : r.fqdn]
}

resource "aws_security_group" "edge" {
  name_prefix = "${var.name}-edge-"
  description = "Load balancer: HTTPS from everywhere, to pods only"
  vpc_id      = aws_vpc.main.id
  lifecycle { create_before_destroy = true }
}

resource "aws_vpc_security_group_ingress_rule" "edge" {
  security_group_id = aws_security_group.edge.id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_vpc_security_group_egress_rule" "edge" {
  for_each                     = local.ports
  security_group_id            = aws_security_group.edge.id
  referenced_security_group_id = aws_eks_cluster.main.vpc_config[0].cluster_security_group_id
  ip_protocol                  = "tcp"
  from_port                    = each.value
  to_port                      = each.value
}

resource "aws_vpc_security_group_ingress_rule" "pods" {
  for_each                     = local.ports
  security_group_id            = aws_eks_cluster.main.vpc_config[0].cluster_security_group_id
  referenced_security_group_id = aws_security_group.edge.id
  ip_protocol                  = "tcp"
  from_port                    = each.value
  to_port                      = each.value
}

resource "aws_lb" "main" {
  name                       = var.name
  load_balancer_type         = "application"
  subnets                    = aws_subnet.public[*].id
  security_groups            = [aws_security_group.edge.id]
  idle_timeout               = 120 # four times realtime.ping
  drop_invalid_header_fields = true
  enable_xff_client_port     = false
  enable_deletion_protection = true
}

resource "aws_lb_target_group" "main" {
  for_each                      = local.components
  name                          = "${var.name}-${each.key}"
  vpc_id                        = aws_vpc.main.id
  target_type                   = "ip"
  protocol                      = "HTTP"
  port                          = local.ports.http
  load_balancing_algorithm_type = "least_outstanding_requests"
  deregistration_delay          = 30 # a pod that stops closes its streams in less
  health_check {
    port                = local.ports.ops
    path                = "/readyz"
    interval            = 5
    timeout             = 3
    healthy_threshold   = 2
    unhealthy_threshold = 2
  }
  # EKS may change the targets of groups with this tag only.
  tags = { "eks:eks-cluster-name" = aws_eks_cluster.main.name }
}

# HTTPS only: a redirect from HTTP would come after the token was sent in the clear.
resource "aws_lb_listener" "main" {
  load_balancer_arn = aws_lb.main.arn
  protocol          = "HTTPS"
  port              = 443
  ssl_policy        = "ELBSecurityPolicy-TLS13-1-2-2021-06"
  certificate_arn   = aws_acm_certificate_validation.main.certificate_arn
  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.main["api"].arn
  }
}

resource "aws_lb_listener_rule" "main" {
  for_each     = local.routes
  listener_arn = aws_lb_listener.main.arn
  action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.main[each.value.component].arn
  }
  condition {
    path_pattern { values = flatten([for path in each.value.paths : [path, "${path}/*"]]) }
  }
}

resource "aws_route53_record" "main" {
  zone_id = var.zone_id
  name    = var.host
  type    = "A"
  alias {
    name                   = aws_lb.main.dns_name
    zone_id                = aws_lb.main.zone_id
    evaluate_target_health = true
  }
}

# Stops floods from single addresses before they cost a connection to a pod. The daemon's own limits
# (docs/settings.md, "Rate limits") count by user and are far lower.
locals {
  rate_rules = {
    joins    = { priority = 1, limit = var.joins_per_address, paths = local.components.gateway }
    requests = { priority = 2, limit = var.requests_per_address, paths = local.components.api }
  }
}

resource "aws_wafv2_web_acl" "main" {
  name  = var.name
  scope = "REGIONAL"
  default_action {
    allow {}
  }
  dynamic "rule" {
    for_each = local.rate_rules
    content {
      name     = rule.key
      priority = rule.value.priority
      action {
        block {
          custom_response {
            response_code = 429
            response_header {
              name  = "Retry-After"
              value = "60"
            }
          }
        }
      }
      statement {
        rate_based_statement {
          limit                 = rule.value.limit
          evaluation_window_sec = 300
          aggregate_key_type    = "IP"
          scope_down_statement {
            regex_match_statement {
              regex_string = "^(${join("|", rule.value.paths)})"
              field_to_match {
                uri_path {}
              }
              text_transformation {
                priority = 0
                type     = "NONE"
              }
            }
          }
        }
      }
      visibility_config {
        metric_name                = "${var.name}-${rule.key}"
        cloudwatch_metrics_enabled = true
        sampled_requests_enabled   = true
      }
    }
  }
  visibility_config {
    metric_name                = var.name
    cloudwatch_metrics_enabled = true
    sampled_requests_enabled   = true
  }
}

resource "aws_wafv2_web_acl_association" "main" {
  resource_arn = aws_lb.main.arn
  web_acl_arn  = aws_wafv2_web_acl.main.arn
}
