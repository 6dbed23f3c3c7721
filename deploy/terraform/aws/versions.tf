# Runs with OpenTofu and with Terraform. Keep the state in an encrypted bucket that few can read: the passwords
# below are in it.
terraform {
  required_version = ">= 1.9"
  required_providers {
    aws    = { source = "hashicorp/aws", version = "~> 6.0" }
    random = { source = "hashicorp/random", version = "~> 3.7" }
  }
  backend "s3" {} # tofu init -backend-config=…
}

provider "aws" {
  region = var.region
  default_tags { tags = { application = var.name } }
}
