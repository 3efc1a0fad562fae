/** Each line has two sides; words of one side contradict words of the other. */
export const ANTONYMS = `
increase increment raise grow bump extend lengthen expand enlarge maximize higher longer larger bigger more greater | decrease decrement reduce lower shrink shorten cut diminish minimize lessen shorter smaller fewer less limit
enable activate | disable deactivate
add introduce include insert install append create | remove delete drop eliminate exclude uninstall omit strip destroy
allow permit accept approve grant yes authorize pass | deny reject refuse decline disallow block revoke veto fail
start begin launch resume open | stop end halt pause close finish shutdown
keep retain preserve maintain stay | replace discard abandon remove migrate leave
sync synchronous synchronously | async asynchronous asynchronously
best better | worst worse
fast faster quick speed accelerate | slow slower delay postpone decelerate defer
early earlier | late later
always | never sometimes occasionally
must mandatory required require | optional may might could
all every everything whole entire | some few partial subset
high | low
least | most
strict stricter tighten strong stronger | loose looser loosen relax lenient weak weaker
public | private
internal | external
local locally | remote remotely
static statically | dynamic dynamically
manual manually | automatic automatically automated automate
centralized centralize central | decentralized distributed
horizontal horizontally | vertical vertically
client | server
frontend | backend
read reading | write writing
input | output
push | pull
encrypt | decrypt
encode | decode
upgrade | downgrade
upstream | downstream
inbound incoming ingress | outbound outgoing egress
left | right
top | bottom
ascending | descending
min minimum minimal | max maximum maximal
success succeed | failure fail
safe secure | unsafe insecure dangerous risky
simple simpler simplify | complex complicated complicate
cheap cheaper | expensive costlier
old legacy existing | new
buy purchase | build
merge combine join unify consolidate | split separate divide fork
monolith monolithic | microservices microservice micro
serial sequential sequentially | parallel concurrent concurrently
eager eagerly | lazy lazily
optimistic | pessimistic
normalize | denormalize
stateless | stateful
single | multiple several many
same identical | different distinct other
full fully | partial partially
permanent permanently | temporary temporarily
positive | negative
good | bad
support endorse favor | oppose object
agree | disagree
true | false
win gain | lose loss
hire | fire
attach mount | detach unmount
lock | unlock
connect | disconnect
import | export
upload | download
show display visible expose | hide hidden invisible conceal
commit | rollback revert undo
forward | backward back
ship release launch proceed | hold wait withhold
continue | stop cancel abort
staging | production
unit | integration
inline | external
tabs tab | spaces space
ram memory | disk
hard | soft
`
/** Ambiguous words: they count only when each statement uses just one side of the line. */
export const WEAK_ANTONYMS = `
on | off
up | down
in into inside | out outside
much many | little few
`
/**
 * Any two words on a line exclude each other. Catches product names in lower case, which `properNamesDiffer` misses.
 */
export const EXCLUSIVE_ALTERNATIVES = `
monday tuesday wednesday thursday friday saturday sunday
january february march april june july august september october november december
hourly daily weekly monthly quarterly yearly
north south east west
red green blue yellow black white orange purple
postgresql mysql mariadb sqlite mongodb oracle cassandra dynamodb cockroachdb
redis memcached valkey
kafka rabbitmq nats sqs pulsar
rest graphql grpc soap websocket websockets polling webhook webhooks
react vue angular svelte solid
aws gcp azure cloudflare
python java go rust js ts ruby php kotlin swift scala elixir
npm yarn pnpm bun
docker podman
kubernetes nomad ecs serverless lambda
terraform pulumi ansible
jwt session sessions cookie cookies
oauth saml ldap
json yaml xml toml protobuf csv
tcp udp quic
http https
linux windows macos
rsa ecdsa ed25519 hmac
bcrypt argon scrypt
gzip brotli zstd
jest vitest mocha
eslint biome
git svn mercurial
rebase squash
canary bluegreen rolling
sql nosql
`
