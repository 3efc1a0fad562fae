/** Spelling variants and aliases. Add only words that mean the same in every context. */
const ALIASES: Readonly<Record<string, string>> = {
  postgres: 'postgresql',
  k8s: 'kubernetes',
  golang: 'go',
  javascript: 'js',
  typescript: 'ts',
  nodejs: 'node',
  'node.js': 'node',
  reactjs: 'react',
  'react.js': 'react',
  vuejs: 'vue',
  'vue.js': 'vue',
  mongo: 'mongodb',
  db: 'database',
  dbs: 'databases',
  repo: 'repository',
  repos: 'repositories',
  config: 'configuration',
  configs: 'configurations',
  prod: 'production',
  env: 'environment',
  admin: 'administrator',
  ok: 'okay',
  behaviour: 'behavior',
  colour: 'color',
  favour: 'favor',
  honour: 'honor',
  neighbour: 'neighbor',
  labour: 'labor',
  centre: 'center',
  licence: 'license',
  defence: 'defense',
  catalogue: 'catalog',
  dialogue: 'dialog',
  programme: 'program',
  grey: 'gray',
  cancelled: 'canceled',
  cancelling: 'canceling',
  labelled: 'labeled',
  labelling: 'labeling',
  modelling: 'modeling',
  modelled: 'modeled',
  travelling: 'traveling',
  fulfil: 'fulfill',
  artefact: 'artifact',
  artefacts: 'artifacts',
  sceptical: 'skeptical',
  timeouts: 'timeout',
  asap: 'immediately',
  approved: 'approve',
  rejected: 'reject',
  accepted: 'accept',
  declined: 'decline',
}

export function resolveAlias(word: string): string {
  return Object.hasOwn(ALIASES, word) ? (ALIASES[word] ?? word) : word
}

/** Words in -ise that have no -ize spelling. */
const ISE_ONLY =
  /^(?:pr[eo]c|conc|rev|adv|dev|surpr|exerc|prom|comprom|superv|telev|r|w|ra|pra|no|otherw|likew|expert|franch|disgu|adverti|improv|enterpr|excis|cru|bru|pa|po|cla|prem|trea|ar)is/

/** Maps optimise, optimisation and analyse to optimize, optimization and analyze. */
export function americanSpelling(word: string): string {
  if (word.length < 6 || ISE_ONLY.test(word)) return word
  return word
    .replace(/(?<=[a-z]{2}[^aeiou])is(e|es|ed|er|ers|ing|able)$/, 'iz$1')
    .replace(/isation(s?)$/, 'ization$1')
    .replace(/lys(e|es|ed|er|ing)$/, 'lyz$1')
}
