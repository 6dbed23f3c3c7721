#!/bin/sh
# Generate the passwords and secrets of docker-compose.yml, into volumes that only the services
# that need them have. Each is a file. A further run keeps them, and writes the files that
# contain one, escaped as their readers require, again. It runs in the image of Redis.
set -eu
umask 077
export LC_ALL=C
chosen=/run/chosen daemon=/run/scoreboard owner=/run/owner pool=/etc/pgbouncer redis=/run/redis kafka=/run/kafka
grafana=/run/grafana

fail() {
	echo "secrets: $1" >&2
	exit 1
}
chosen() { sed -n "s/^$1=//p" $chosen; } # VARIABLE: what .env sets, "" for nothing
write() {                                # FILE: from standard input, whole or not at all
	cat >"$1.new"
	mv "$1.new" "$1"
}

# Check all choices before anything is written.
variables='POSTGRES_PASSWORD POSTGRES_RUNTIME_PASSWORD REDIS_PASSWORD KAFKA_PASSWORD GRAFANA_PASSWORD
SCOREBOARD_AUTH_JWT_SECRET SCOREBOARD_AUTH_MASTER_KEY'
for variable in $variables; do
	case $(chosen "$variable") in
	' '* | *' ' | *[[:cntrl:]]*) fail "$variable must not begin or end with a space, or contain control characters" ;;
	esac
done
[ "$(grep -c . $chosen)" = "$(echo "$variables" | wc -w)" ] || fail "a value in .env contains a line break"
check() { # VARIABLE FILE
	now=$(chosen "$1")
	[ -z "$now" ] || [ ! -s "$2" ] || [ "$now" = "$(cat "$2")" ] ||
		fail "$1 in .env is not the password of the first start, which stays in use: remove it from .env"
}
check POSTGRES_PASSWORD $owner/password
check POSTGRES_RUNTIME_PASSWORD $pool/password
check REDIS_PASSWORD $redis/password
check KAFKA_PASSWORD $kafka/password
check GRAFANA_PASSWORD $grafana/password

random() { od -An -v -N32 -tx1 /dev/urandom | tr -d ' \n'; }
keep() { # FILE VALUE: unless the file has one; a random one without a value
	[ -s "$1" ] || printf '%s\n' "${2:-$(random)}" | write "$1"
}
keep $owner/password "$(chosen POSTGRES_PASSWORD)"
keep $pool/password "$(chosen POSTGRES_RUNTIME_PASSWORD)"
keep $redis/password "$(chosen REDIS_PASSWORD)"
keep $kafka/password "$(chosen KAFKA_PASSWORD)"
keep $grafana/password "$(chosen GRAFANA_PASSWORD)"

# Only the daemon reads these, so they may change.
secret() { # NAME [VARIABLE]
	value=
	[ $# = 1 ] || value=$(chosen "$2")
	[ -z "$value" ] || rm -f "$daemon/$1"
	keep "$daemon/$1" "$value"
}
secret jwt_secret SCOREBOARD_AUTH_JWT_SECRET
secret master_key SCOREBOARD_AUTH_MASTER_KEY
secret default_key_secret

# The password in FILE, as its readers want it.
in_pgpass() { sed 's/[\\:]/\\&/g' "$1"; }
in_userlist() { sed 's/"/""/g' "$1"; }
in_url() { tr -d '\n' <"$1" | od -An -v -tx1 | tr -d '\n' | tr ' ' '%'; }
in_yaml() { sed "s/'/''/g" "$1"; }
in_jaas() { sed 's/["\\]/\\&/g' "$1"; }
in_acl() { tr -d '\n' <"$1" | sha256sum | cut -d ' ' -f 1; }

write $owner/pgpass <<END
*:*:*:scoreboard:$(in_pgpass $owner/password)
END
write $daemon/pgpass <<END
*:*:*:scoreboard_runtime:$(in_pgpass $pool/password)
END
write $daemon/secrets.yml <<END
auth.jwt_secret: '$(in_yaml $daemon/jwt_secret)'
auth.master_key: '$(in_yaml $daemon/master_key)'
auth.default_key: default
auth.default_key_secret: '$(in_yaml $daemon/default_key_secret)'
redis.url: redis://default:$(in_url $redis/password)@redis:6379/0
kafka.sasl: plain
kafka.sasl_user: scoreboard
kafka.sasl_password: '$(in_yaml $kafka/password)'
END
write $pool/userlist.txt <<END
"scoreboard_runtime" "$(in_userlist $pool/password)"
END
# Connections are not logged: the health check makes one every few seconds.
write $pool/pgbouncer.ini <<END
[databases]
scoreboard = host=postgres port=5432 dbname=scoreboard
[pgbouncer]
listen_addr = 0.0.0.0
listen_port = 5432
unix_socket_dir =
auth_type = scram-sha-256
auth_file = /etc/pgbouncer/userlist.txt
pool_mode = transaction
default_pool_size = 40
max_client_conn = 1000
max_prepared_statements = 200
log_connections = 0
log_disconnections = 0
END
# Rankings must not be evicted. A snapshot every five minutes if anything changed makes a
# restart fast.
write $redis/redis.conf <<END
user default on sanitize-payload #$(in_acl $redis/password) ~* &* +@all
dir /data
appendonly yes
appendfsync everysec
save 300 1
maxmemory-policy noeviction
END
write $kafka/jaas.conf <<END
KafkaServer {
	org.apache.kafka.common.security.plain.PlainLoginModule required
	username="scoreboard" password="$(in_jaas $kafka/password)" user_scoreboard="$(in_jaas $kafka/password)";
};
END

# The daemon's are its user's alone; others are read by users that their images choose.
chmod 0444 $owner/* $pool/* $redis/* $kafka/* $grafana/*
chmod 0755 $owner $pool $redis $kafka $grafana
[ "$(id -u)" != 0 ] || chown -R 65532:65532 $daemon
