# Install the release on a bare Debian, start its backends, and make the tour: .ci/installed runs this in a container.
echo '== programs'
mkdir /opt/scoreboard
tar -xzf "/dist/scoreboard_${VERSION}_$MACHINE.tar.gz" -C /opt/scoreboard --strip-components 1
cd /opt/scoreboard
install -t /usr/local/bin sbctl scoreboardd
for program in sbctl scoreboardd; do
	[ "$($program --version)" = "$program version $VERSION" ] || { $program --version; exit 1; }
done
ls README.md CHANGELOG.md LICENSE man/sbctl.1 man/sbctl-score-submit.1 completions/sbctl.{zsh,fish,powershell} >/dev/null
if grep -nE '\]\([^):#]+\)' README.md CHANGELOG.md cli.md; then
	echo 'these links lead to files that the archive lacks'
	exit 1
fi
bash -c '. completions/sbctl.bash && complete -p sbctl' >/dev/null

echo '== packages of the SDKs'
mkdir -p /opt/node /opt/csharp /opt/unity /opt/godot
pip install --quiet --root-user-action ignore --no-index --break-system-packages /dist/scoreboard-*.whl
npm install --silent --offline --no-audit --no-fund --prefix /opt/node /dist/scoreboard-client-*.tgz
unzip -q /dist/Scoreboard.Client.*.nupkg -d /opt/csharp
tar -xzf /dist/com.scoreboard.client-*.tgz -C /opt/unity
ls /opt/unity/package/Runtime/Unity/UnityPlatform.cs{,.meta} >/dev/null
unzip -q /dist/scoreboard-godot-*.zip -d /opt/godot
ls /opt/godot/addons/scoreboard/{plugin.cfg,scoreboard.gd,LICENSE} >/dev/null

echo '== backends'
pg_ctlcluster "$(ls /etc/postgresql)" main start
redis-server --daemonize yes --save '' >/dev/null
until redis-cli ping >/dev/null 2>&1; do sleep 0.1; done
su postgres -c 'psql --quiet --set ON_ERROR_STOP=1' </work/database.sql

echo '== tour'
mkdir /root/tour
cd /root/tour
timeout 300 bash /work/tour.sh 2>&1 | tee /root/tour.txt || { cat scoreboardd.log; exit 1; }
grep -qE '^ +1 +ada +25 ' /root/tour.txt || { echo 'ada does not have 25 points'; exit 1; }
