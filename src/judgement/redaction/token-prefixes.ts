/*
 * Prefixes by which services mark their tokens, with the least number of characters that follow. The formats are public facts from the
 * documentation of the services and from secret scanners.
 */

/** The least number of characters after one of the prefixes, and which: letters, digits, `_` and `-` unless stated. */
type TokenFormat = readonly [kind: string, prefixes: string, length: number, characters?: string]

const HEX = 'a-fA-F0-9'
const LETTERS_AND_DIGITS = 'A-Za-z0-9'
const BASE64 = 'A-Za-z0-9+/='
const DOTTED = '\\w.=-'

const TOKEN_FORMATS: readonly TokenFormat[] = [
  ['api-key', 'gsk_ hf_ npm_ r8_', 20, LETTERS_AND_DIGITS],
  ['api-key', 'sk-', 16],
  ['api-key', 'sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_', 10],
  ['api-key', 'xai- glpat- pplx- lsv2_ tvly-', 20],
  ['api-key', 'glptt- gldt- glrt- glcbt- glft- glimt- glagent- gloas-', 20],
  ['api-key', 'nvapi- jina_ fw_ csk- fc- phc_ phx_ sb_secret_ sbp_', 24],
  ['github-token', 'ghp_ gho_ ghs_ ghu_ ghr_', 20, LETTERS_AND_DIGITS],
  ['github-token', 'github_pat_', 20],
  ['google-key', 'AIza', 30],
  ['google-key', 'GOCSPX- ya29.', 20, DOTTED],
  ['slack-token', 'xapp- xoxe.xoxp- xoxe.xoxb-', 10],
  ['private-key', 'AGE-SECRET-KEY-1', 50, 'A-Z0-9'],
  ['token', 'ops_eyJ', 200, BASE64],
  ['token', 'hvs. hvb. hvr.', 20],
  ['token', 'dop_v1_ doo_v1_ dor_v1_', 60, HEX],
  ['token', 'dapi', 32, HEX],
  ['token', 'dckr_pat_ dckr_oat_', 20],
  ['token', 'dp.pt. dp.st. dp.ct. dp.sa. dt0c01. dt0s16.', 40, DOTTED],
  ['token', 'shpat_ shpca_ shppa_ shpss_', 32, HEX],
  ['token', 'SG. sl.', 60, DOTTED],
  ['token', 'xkeysib- xsmtpsib-', 64],
  ['token', 'sntrys_ sntryu_', 60, 'A-Za-z0-9+/=_'],
  ['token', 'PMAK- NRAK- NRII- NRJS- NRRA-', 19],
  ['token', 'pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw', 50],
  ['token', 'rubygems_ pul- sgp_', 40],
  ['token', 'pscale_tkn_ pscale_oauth_ pscale_pw_', 32, DOTTED],
  ['token', 'glsa_ glc_', 32, 'A-Za-z0-9+/=_'],
  ['token', 'eyJrIjoi', 60, BASE64],
  ['token', 'lin_api_ lin_oauth_ pnu_ pnb_ tk-us- rdme_ fio-u- figd_ ntn_', 36],
  ['token', 'duffel_test_ duffel_live_ shippo_live_ shippo_test_ tfp_', 40, DOTTED],
  ['token', 'EZAK EZTK', 54, LETTERS_AND_DIGITS],
  ['token', 'EAAM EAAC', 100, LETTERS_AND_DIGITS],
  ['token', 'EAAAE sq0atp- sq0csp-', 22],
  ['token', 'FLWSECK- FLWSECK_TEST-', 12],
  ['token', 'fo1_ fm1a_ fm1r_ fm2_', 43, 'A-Za-z0-9+/=_-'],
  ['token', 'ATATT3 ATCTT3 ATBB', 28, DOTTED],
  ['token', 'sm_aat_ sm_pat_ sm_sat_', 16, LETTERS_AND_DIGITS],
  ['token', 'CLOJARS_', 60, LETTERS_AND_DIGITS],
  ['token', 'p8e- dnkey- tskey- AKCp secret_', 32],
  ['token', 'v1.0-', 100, 'a-f0-9-'],
  ['token', 'LTAI', 20, LETTERS_AND_DIGITS],
  ['token', 'sha256~', 43],
  ['token', 'API-', 26, 'A-Z0-9'],
  ['token', '4b1d', 38, LETTERS_AND_DIGITS],
]

// Without `Map.groupBy`: a Node that is too old has to load this file before it can say so (P30).
const TOKEN_KINDS = [...new Set(TOKEN_FORMATS.map(([kind]) => kind))]

/** One expression for each kind: prefix, then its characters. Each is linear: a prefix is fixed, and one class follows. */
export const TOKEN_PATTERNS: readonly (readonly [kind: string, pattern: RegExp])[] = TOKEN_KINDS.map((kind) => {
  const alternatives = TOKEN_FORMATS.filter(([ofKind]) => ofKind === kind).map(
    ([, prefixes, length, characters = '\\w-']) => `(?:${prefixPattern(prefixes)})[${characters}]{${length},}`,
  )
  return [kind, new RegExp(`(?<![A-Za-z0-9_])(?:${alternatives.join('|')})`, 'dg')]
})

/** Matches every text that a token pattern can match. */
export const TOKEN_TRIGGER = new RegExp(TOKEN_FORMATS.map(([, prefixes]) => prefixPattern(prefixes)).join('|'))

function prefixPattern(prefixes: string): string {
  return prefixes.replace(/[.*+?^${}()|[\]\\~]/g, '\\$&').replaceAll(' ', '|')
}
