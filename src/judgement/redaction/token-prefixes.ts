/*
 * Prefixes by which services mark their tokens, with the least number of characters that follow. The formats are public facts from the
 * documentation of the services and from secret scanners.
 */

interface TokenFormat {
  kind: string
  prefixes: readonly string[]
  /** Least number of characters after the prefix. */
  length: number
  /** Characters after the prefix; letters, digits, `_` and `-` unless stated. */
  characters?: string
}

const HEX = 'a-fA-F0-9'
const LETTERS_AND_DIGITS = 'A-Za-z0-9'
const BASE64 = 'A-Za-z0-9+/='
const DOTTED = '\\w.=-'

const TOKEN_FORMATS: readonly TokenFormat[] = [
  { kind: 'api-key', prefixes: ['gsk_', 'hf_', 'npm_', 'r8_'], length: 20, characters: LETTERS_AND_DIGITS },
  { kind: 'api-key', prefixes: ['sk-'], length: 16 },
  { kind: 'api-key', prefixes: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'sk_prod_', 'rk_prod_'], length: 10 },
  {
    kind: 'api-key',
    prefixes: ['xai-', 'glpat-', 'pplx-', 'lsv2_', 'tvly-'],
    length: 20,
  },
  {
    kind: 'api-key',
    prefixes: ['glptt-', 'gldt-', 'glrt-', 'glcbt-', 'glft-', 'glimt-', 'glagent-', 'gloas-'],
    length: 20,
  },
  {
    kind: 'api-key',
    prefixes: ['nvapi-', 'jina_', 'fw_', 'csk-', 'fc-', 'phc_', 'phx_', 'sb_secret_', 'sbp_'],
    length: 24,
  },
  {
    kind: 'github-token',
    prefixes: ['ghp_', 'gho_', 'ghs_', 'ghu_', 'ghr_'],
    length: 20,
    characters: LETTERS_AND_DIGITS,
  },
  { kind: 'github-token', prefixes: ['github_pat_'], length: 20 },
  { kind: 'google-key', prefixes: ['AIza'], length: 30 },
  { kind: 'google-key', prefixes: ['GOCSPX-', 'ya29.'], length: 20, characters: DOTTED },
  { kind: 'slack-token', prefixes: ['xapp-', 'xoxe.xoxp-', 'xoxe.xoxb-'], length: 10 },
  { kind: 'private-key', prefixes: ['AGE-SECRET-KEY-1'], length: 50, characters: 'A-Z0-9' },
  { kind: 'token', prefixes: ['ops_eyJ'], length: 200, characters: BASE64 },
  { kind: 'token', prefixes: ['hvs.', 'hvb.', 'hvr.'], length: 20 },
  { kind: 'token', prefixes: ['dop_v1_', 'doo_v1_', 'dor_v1_'], length: 60, characters: HEX },
  { kind: 'token', prefixes: ['dapi'], length: 32, characters: HEX },
  { kind: 'token', prefixes: ['dckr_pat_', 'dckr_oat_'], length: 20 },
  {
    kind: 'token',
    prefixes: ['dp.pt.', 'dp.st.', 'dp.ct.', 'dp.sa.', 'dt0c01.', 'dt0s16.'],
    length: 40,
    characters: DOTTED,
  },
  { kind: 'token', prefixes: ['shpat_', 'shpca_', 'shppa_', 'shpss_'], length: 32, characters: HEX },
  { kind: 'token', prefixes: ['SG.', 'sl.'], length: 60, characters: DOTTED },
  { kind: 'token', prefixes: ['xkeysib-', 'xsmtpsib-'], length: 64 },
  { kind: 'token', prefixes: ['sntrys_', 'sntryu_'], length: 60, characters: 'A-Za-z0-9+/=_' },
  { kind: 'token', prefixes: ['PMAK-', 'NRAK-', 'NRII-', 'NRJS-', 'NRRA-'], length: 19 },
  { kind: 'token', prefixes: ['pypi-AgEIcHlwaS5vcmc', 'pypi-AgENdGVzdC5weXBpLm9yZw'], length: 50 },
  { kind: 'token', prefixes: ['rubygems_', 'pul-', 'sgp_'], length: 40 },
  { kind: 'token', prefixes: ['pscale_tkn_', 'pscale_oauth_', 'pscale_pw_'], length: 32, characters: DOTTED },
  { kind: 'token', prefixes: ['glsa_', 'glc_'], length: 32, characters: 'A-Za-z0-9+/=_' },
  { kind: 'token', prefixes: ['eyJrIjoi'], length: 60, characters: BASE64 },
  {
    kind: 'token',
    prefixes: ['lin_api_', 'lin_oauth_', 'pnu_', 'pnb_', 'tk-us-', 'rdme_', 'fio-u-', 'figd_', 'ntn_'],
    length: 36,
  },
  {
    kind: 'token',
    prefixes: ['duffel_test_', 'duffel_live_', 'shippo_live_', 'shippo_test_', 'tfp_'],
    length: 40,
    characters: DOTTED,
  },
  { kind: 'token', prefixes: ['EZAK', 'EZTK'], length: 54, characters: LETTERS_AND_DIGITS },
  { kind: 'token', prefixes: ['EAAM', 'EAAC'], length: 100, characters: LETTERS_AND_DIGITS },
  { kind: 'token', prefixes: ['EAAAE', 'sq0atp-', 'sq0csp-'], length: 22 },
  { kind: 'token', prefixes: ['FLWSECK-', 'FLWSECK_TEST-'], length: 12 },
  { kind: 'token', prefixes: ['fo1_', 'fm1a_', 'fm1r_', 'fm2_'], length: 43, characters: 'A-Za-z0-9+/=_-' },
  { kind: 'token', prefixes: ['ATATT3', 'ATCTT3', 'ATBB'], length: 28, characters: DOTTED },
  { kind: 'token', prefixes: ['sm_aat_', 'sm_pat_', 'sm_sat_'], length: 16, characters: LETTERS_AND_DIGITS },
  { kind: 'token', prefixes: ['CLOJARS_'], length: 60, characters: LETTERS_AND_DIGITS },
  { kind: 'token', prefixes: ['p8e-', 'dnkey-', 'tskey-', 'AKCp', 'secret_'], length: 32 },
  { kind: 'token', prefixes: ['v1.0-'], length: 100, characters: 'a-f0-9-' },
  { kind: 'token', prefixes: ['LTAI'], length: 20, characters: LETTERS_AND_DIGITS },
  { kind: 'token', prefixes: ['sha256~'], length: 43 },
  { kind: 'token', prefixes: ['API-'], length: 26, characters: 'A-Z0-9' },
  { kind: 'token', prefixes: ['4b1d'], length: 38, characters: LETTERS_AND_DIGITS },
]

// Without `Map.groupBy`: a Node that is too old has to load this file before it can say so (P30).
const TOKEN_KINDS = [...new Set(TOKEN_FORMATS.map(({ kind }) => kind))]

/** One expression for each kind: prefix, then its characters. Each is linear: a prefix is fixed, and one class follows. */
export const TOKEN_PATTERNS: readonly (readonly [kind: string, pattern: RegExp])[] = TOKEN_KINDS.map((kind) => {
  const alternatives = TOKEN_FORMATS.filter((format) => format.kind === kind).map(
    ({ prefixes, length, characters = '\\w-' }) =>
      `(?:${prefixes.map(escapePattern).join('|')})[${characters}]{${length},}`,
  )
  return [kind, new RegExp(`(?<![A-Za-z0-9_])(?:${alternatives.join('|')})`, 'dg')]
})

/** Matches every text that a token pattern can match. */
export const TOKEN_TRIGGER = new RegExp(TOKEN_FORMATS.flatMap(({ prefixes }) => prefixes.map(escapePattern)).join('|'))

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\~]/g, '\\$&')
}
