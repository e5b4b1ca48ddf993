# The single executable under Nomad, over MongoDB.
#
#   nomad var put nomad/jobs/portolan MONGODB_URL=... AUTH_JWKS_URL=... AUTH_ISSUER=...
#   nomad job run -var executable=https://files.example/portolan-linux-x64.tar.gz -var checksum=sha256:... portolan.nomad.hcl
#
# Every item of the Nomad variable `nomad/jobs/portolan` becomes an environment variable of the service: what is secret is
# written nowhere else.

variable "executable" {
  type        = string
  description = "Address of a release's archive with the executable, for the client's system"
}

variable "checksum" {
  type        = string
  description = "Checksum of the archive as `sha256:...`, from the release's SHA256SUMS"
}

variable "instances" {
  type        = number
  description = "Instances that share the database"
  default     = 2
}

variable "driver" {
  type        = string
  description = "Task driver: exec isolates the process, raw_exec does not"
  default     = "exec"
}

job "portolan" {
  type = "service"

  group "portolan" {
    count = var.instances

    network {
      port "http" {}
    }

    service {
      name     = "portolan"
      port     = "http"
      provider = "nomad"

      check {
        type     = "http"
        path     = "/health/ready"
        interval = "5s"
        timeout  = "3s"
      }
    }

    update {
      max_parallel     = 1
      min_healthy_time = "5s"
      healthy_deadline = "2m"
      auto_revert      = true
    }

    task "portolan" {
      driver = var.driver

      artifact {
        source = var.executable

        options {
          checksum = var.checksum
        }
      }

      config {
        command = "${NOMAD_TASK_DIR}/portolan"
        args    = ["serve"]
      }

      # Running requests finish within 10 s of the signal, background work after them.
      kill_signal  = "SIGTERM"
      kill_timeout = "20s"

      env {
        HOST          = "0.0.0.0"
        PORT          = "${NOMAD_PORT_http}"
        PORTOLAN_HOME = "${NOMAD_TASK_DIR}/data"
        STORE         = "mongo"
        LOG_FORMAT    = "json"
      }

      template {
        destination = "${NOMAD_SECRETS_DIR}/portolan.env"
        env         = true
        data        = <<-EOT
        {{- with nomadVar "nomad/jobs/portolan" }}
        {{- range .Tuples }}
        {{ .K }}={{ .V | toJSON }}
        {{- end }}
        {{- end }}
        EOT
      }

      resources {
        cpu    = 200
        memory = 256
      }
    }
  }
}
