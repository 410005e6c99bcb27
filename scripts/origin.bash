# Functions that serve a folder with nginx on loopback; other scripts source this. Any user may run it: nginx only writes to WORK.
#   port_is_taken PORT
#   start_origin FOLDER PORT WORK [ACCESS-LOG]    returns when it responds; a row of the log is: status, path and query,
#                                                 body bytes sent, protocol, number of the connection
#   start_origin … ACCESS-LOG tls                 over HTTPS, including HTTP/2, as 127.0.0.1; clients trust WORK/certificate.pem.
#                                                 If ACCESS-LOG is empty, nothing is logged
#   start_origin … ACCESS-LOG plain MILLISECONDS  each response MILLISECONDS late, with Debian's libnginx-mod-http-echo
#   start_origin … ACCESS-LOG tls|plain hosts     as every address of 127.0.0.0/8, HTTP/1.1 only, a new connection and, with TLS, a full
#                                                 handshake for each request
#   stop_origin WORK                              returns when it has ended
# shellcheck shell=bash

# Debian's path of nginx, which isn't in a user's PATH.
[[ :$PATH: == *:/usr/sbin:* ]] || PATH=$PATH:/usr/sbin

port_is_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

start_origin() {
  local folder port=$2 work=$3 log=${4:+"'$4' asked"} tls=${5:-} user= http2=http2 address=127.0.0.1 rules= module=
  [[ $tls != plain ]] || tls=
  folder=$(realpath "$1")
  # If started by root, nginx would serve as www-data, which can't read a clone under /root.
  ((EUID != 0)) || user="user root root;"
  if [[ $tls ]]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 \
      -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=CA:FALSE -keyout "$work/key.pem" -out "$work/certificate.pem" 2>/dev/null
    tls="ssl_certificate '$work/certificate.pem'; ssl_certificate_key '$work/key.pem';"
  fi
  if [[ ${6:-} == hosts ]]; then
    # A socket for all of these addresses is one for all others, too, which get no response.
    address=0.0.0.0 http2=
    rules="allow 127.0.0.0/8; deny all; keepalive_timeout 0; ${tls:+ssl_session_tickets off; ssl_session_cache off;}"
  elif [[ ${6:-} ]]; then
    module='load_module /usr/lib/nginx/modules/ngx_http_echo_module.so;'
    rules="location / { echo_sleep $(printf '%d.%03d' $(($6 / 1000)) $(($6 % 1000))); echo_exec /late\$uri; }"
    rules+=" location /late/ { internal; alias '$folder/'; }"
  fi
  cat >"$work/nginx.conf" <<CONF
$module
$user
worker_processes 1;
pid '$work/nginx.pid';
error_log '$work/error.log';
events { worker_connections 8192; multi_accept on; }
http {
  types {
    image/avif avif;
    image/gif gif;
    image/jpeg jpg jpeg;
    image/png png;
    image/svg+xml svg;
    image/webp webp;
    text/html html;
    text/plain txt;
  }
  default_type application/octet-stream;
  log_format asked '\$status \$request_uri \$body_bytes_sent \$server_protocol \$connection';
  access_log ${log:-off};
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  client_body_temp_path '$work/body';
  proxy_temp_path '$work/proxy';
  fastcgi_temp_path '$work/fastcgi';
  uwsgi_temp_path '$work/uwsgi';
  scgi_temp_path '$work/scgi';
  server {
    listen $address:$port ${tls:+ssl $http2} backlog=4096;
    $tls $rules
    root '$folder';
    add_header Cache-Control "public, max-age=3600";
  }
}
CONF
  if ! nginx -e "$work/error.log" -p "$work" -c "$work/nginx.conf" 2>/dev/null; then
    echo "cannot start nginx on port $port:" >&2
    cat "$work/error.log" >&2
    return 1
  fi
}

stop_origin() {
  local pid
  pid=$(cat "$1/nginx.pid" 2>/dev/null) || return 0
  kill "$pid" 2>/dev/null || true
  while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
}
