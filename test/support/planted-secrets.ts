/* Secrets as they stand in real files and outputs. Values are random, from a fixed seed, so that no scanner mistakes this file for a leak. */

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
const DIGITS = '0123456789'
let state = 20261116

function random(limit: number): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * limit)
}

function pick(characters: string, length: number): string {
  return Array.from({ length }, () => characters.charAt(random(characters.length))).join('')
}

const hex = (length: number) => pick('0123456789abcdef', length)
const alphanumeric = (length: number) => `${pick(LETTERS, length - 4)}${pick(DIGITS, 2)}${pick(LETTERS, 2)}`
const base64 = (length: number) => `${pick(`${LETTERS}${DIGITS}+/`, length)}==`
const password = () => `${pick(LETTERS, 5)}${pick('!%*+-_', 1)}${pick(DIGITS, 3)}`
const word = () => pick('abcdefghijklmnopqrstuvwxyz', 9)

/** Kind, then texts with the secret between « and ». */
export const PLANTED_SECRETS: Readonly<Record<string, readonly string[]>> = {
  'OpenAI, Anthropic and other model providers': [
    `use «sk-proj-${alphanumeric(48)}»`,
    `«sk-ant-api03-${alphanumeric(40)}»`,
    `GROQ: «gsk_${alphanumeric(48)}»`,
    `«xai-${alphanumeric(60)}»`,
    `«hf_${alphanumeric(34)}»`,
    `«AIza${alphanumeric(35)}»`,
  ],
  GitHub: [
    `git clone https://x:«ghp_${alphanumeric(36)}»@github.com/a/b`,
    `«github_pat_${alphanumeric(40)}»`,
    `token «ghs_${alphanumeric(36)}»`,
  ],
  GitLab: [`PRIVATE-TOKEN: «glpat-${alphanumeric(20)}»`, `«glrt-${alphanumeric(20)}»`],
  AWS: [
    `aws_access_key_id = «AKIA${pick('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16)}»`,
    `aws_secret_access_key = «${base64(40).slice(0, 40)}»`,
    `AWS_SESSION_TOKEN=«${base64(80)}»`,
    `{"SecretAccessKey": "«${base64(40).slice(0, 40)}»"}`,
  ],
  Azure: [
    `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=«${base64(86)}»;EndpointSuffix=core.windows.net`,
    `https://a.blob.core.windows.net/c/f?sv=2024&sig=«${pick(LETTERS, 40)}%3D»`,
    `client_secret: «${pick(LETTERS, 3)}8Q~${alphanumeric(34)}»`,
  ],
  Google: [
    `"private_key": "«-----BEGIN PRIVATE KEY-----\\n${base64(64)}\\n-----END PRIVATE KEY-----»\\n"`,
    `client_secret «GOCSPX-${alphanumeric(28)}»`,
  ],
  Slack: [
    `«xoxb-${pick(DIGITS, 12)}-${alphanumeric(24)}»`,
    `https://hooks.slack.com/services/«T${alphanumeric(8)}/B${alphanumeric(8)}/${alphanumeric(24)}»`,
  ],
  Discord: [`https://discord.com/api/webhooks/${pick(DIGITS, 18)}/«${alphanumeric(68)}»`],
  Stripe: [`«sk_live_${alphanumeric(24)}»`, `stripe.api_key = "«rk_test_${alphanumeric(24)}»"`],
  'other services': [
    `«SG.${alphanumeric(22)}.${alphanumeric(43)}»`,
    `«npm_${alphanumeric(36)}»`,
    `«shpat_${hex(32)}»`,
    `«dop_v1_${hex(64)}»`,
    `«pypi-AgEIcHlwaS5vcmc${alphanumeric(60)}»`,
    `«SK${hex(32)}»`,
    `bot «${pick(DIGITS, 9)}:AA${alphanumeric(33)}»`,
    `«hvs.${alphanumeric(90)}»`,
    `«dckr_pat_${alphanumeric(27)}»`,
    `«sntryu_${hex(64)}»`,
    `«PMAK-${hex(24)}-${hex(34)}»`,
    `«rubygems_${hex(48)}»`,
    `«glsa_${alphanumeric(32)}_${hex(8)}»`,
    `«lin_api_${alphanumeric(40)}»`,
    `«dapi${hex(32)}»`,
  ],
  'JSON web tokens': [`Cookie: session=«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ${alphanumeric(20)}.${alphanumeric(43)}»`],
  'private keys': [
    `«-----BEGIN OPENSSH PRIVATE KEY-----\n${base64(64)}\n-----END OPENSSH PRIVATE KEY-----»`,
    `«-----BEGIN PGP PRIVATE KEY BLOCK-----\n${base64(64)}\n-----END PGP PRIVATE KEY BLOCK-----»`,
    `«AGE-SECRET-KEY-1${pick('QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}»`,
  ],
  'URLs with a password': [
    `postgres://ann:«${password()}»@db.example.com:5432/x`,
    `redis://:«${word()}»@cache:6379/0`,
    `amqp://guest:«${word()}»@mq/`,
    `mongodb+srv://u:«${alphanumeric(16)}»@c0.example.net/db`,
    `https://ann:«${alphanumeric(20)}»@proxy:8080`,
    `jdbc:mysql://h/db?user=a&password=«${alphanumeric(12)}»`,
  ],
  'HTTP headers': [
    `Authorization: Bearer «${alphanumeric(40)}»`,
    `authorization: Basic «${base64(20)}»`,
    `x-api-key: «${alphanumeric(32)}»`,
    `X-Auth-Token: «${hex(32)}»`,
    `curl -H "X-Api-Key: «${alphanumeric(32)}»" https://a`,
    `curl -u admin:«${password()}» https://a`,
  ],
  '.env files': [
    `DB_PASSWORD=«${password()}»`,
    `export OPENAI_API_KEY=«${alphanumeric(30)}»`,
    `SECRET_KEY_BASE=«${hex(64)}»`,
    `SMTP_PASSWORD="«${password()}»"`,
    `JWT_SECRET='«${alphanumeric(24)}»'`,
    `ENCRYPTION_KEY=«${base64(43)}»`,
    `A=1\nTWILIO_AUTH_TOKEN=«${hex(32)}»\nB=2`,
  ],
  YAML: [
    `db:\n  user: ann\n  password: «${word()}»\n  host: db`,
    `  api_key: «${alphanumeric(24)}»`,
    `token: «${alphanumeric(30)}»`,
    `stringData:\n  client-secret: «${alphanumeric(24)}»`,
    `rabbitmq:\n  password: «${password()}»`,
    `secret_key_base: «${hex(64)}»`,
    `- name: a\n  accessToken: «${alphanumeric(30)}»`,
  ],
  kubeconfig: [`    client-key-data: «${base64(120)}»`, `    token: «${alphanumeric(40)}»`],
  JSON: [
    `{"password": "«${word()}»"}`,
    `{"apiKey":"«${alphanumeric(24)}»","x":1}`,
    `{"refresh_token": "«${alphanumeric(40)}»"}`,
    `{"auths":{"r.example.com":{"auth":"«${base64(24)}»"}}}`,
    `{"clientSecret" : "«${alphanumeric(32)}»"}`,
  ],
  'JSON in JSON': [
    JSON.stringify({ body: JSON.stringify({ password: 'PLANTED1x' }) }).replace('PLANTED1x', `«${password()}»`),
    JSON.stringify({ env: JSON.stringify({ api_key: 'PLANTED1x' }) }).replace('PLANTED1x', `«${alphanumeric(24)}»`),
  ],
  code: [
    `const clientSecret = '«${alphanumeric(32)}»'`,
    `password: str = "«${password()}»"`,
    `private static final String API_KEY = "«${alphanumeric(32)}»";`,
    `conn = connect(user="ann", password="«${word()}»")`,
    `apiKey := "«${alphanumeric(32)}»"`,
    `'secret_key' => '«${alphanumeric(32)}»',`,
    `config["auth_token"] = "«${alphanumeric(24)}»"`,
    `self.db_password = '«${password()}»'`,
  ],
  XML: [
    `<password>«${word()}»</password>`,
    `<add key="Password" value="«${password()}»" />`,
    `<apiKey>«${alphanumeric(24)}»</apiKey>`,
  ],
  'INI and property files': [
    `[client]\nuser=root\npassword=«${password()}»`,
    `spring.datasource.password=«${password()}»`,
    `password = «${password()}»`,
    `//registry.npmjs.org/:_authToken=«${alphanumeric(36)}»`,
    `_auth=«${base64(30)}»`,
  ],
  '.netrc and .pgpass': [
    `machine api.example.com login ann password «${word()}»`,
    `machine h\n  login ann\n  password «${password()}»`,
    `db.example.com:5432:app:ann:«${password()}»`,
  ],
  'command lines': [
    `mysql --password=«${password()}» -h db`,
    `deploy --token «${alphanumeric(24)}»`,
    `docker login -u ann --password «${word()}» r.example.com`,
    `PGPASSWORD=«${word()}» psql -h db`,
    `vault login token=«${alphanumeric(26)}»`,
  ],
}

/** Words around a private key, which are no secret. */
const PEM_WORD = /^(?:-+BEGIN|-+END|OPENSSH|PGP|PRIVATE|KEY-+|KEY|BLOCK-+)$/

/** A planted secret: the whole text, and what must not be left of it. */
export interface PlantedSecret {
  kind: string
  text: string
  secrets: string[]
}

export const plantedSecrets: readonly PlantedSecret[] = Object.entries(PLANTED_SECRETS).flatMap(([kind, texts]) =>
  texts.map((marked) => ({
    kind,
    text: marked.replace('«', '').replace('»', ''),
    secrets: (/«([\s\S]*)»/.exec(marked)?.[1] ?? '')
      .split(/[\n\s]+|\\n/)
      .filter((part) => part.length > 3 && !PEM_WORD.test(part)),
  })),
)
