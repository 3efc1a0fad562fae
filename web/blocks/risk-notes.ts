/* Notes on added lines that run on the host or widen what a program may do. They point a reader to a line; they are no guard. */

interface RiskRule {
  note: string
  path?: RegExp
  /** The JSON object that the line stands in, such as `scripts`. */
  section?: RegExp
  text?: RegExp
}

const RULES: readonly RiskRule[] = [
  { note: 'runs on install', path: /package\.json$/, text: /"(pre|post)?install"|"prepare"|"prepack"/ },
  { note: 'new script', path: /package\.json$/, section: /^scripts$/ },
  { note: 'new dependency', path: /package\.json$/, section: /ependencies$/, text: /:\s*"/ },
  { note: 'new dependency', path: /package\.json$/, text: /ependencies"\s*:\s*\{\s*"/ },
  { note: 'new script', path: /package\.json$/, text: /"scripts"\s*:\s*\{\s*"/ },
  { note: 'downloads and executes', text: /\b(curl|wget)\b.*\|\s*(sudo\s+)?(ba|z|da)?sh\b/ },
  { note: 'runs as root', text: /\bsudo\b/ },
  { note: 'deletes recursively', text: /\brm\s+-[a-z]*r[a-z]*f|\brm\s+-[a-z]*f[a-z]*r/ },
  { note: 'skips hooks', text: /--no-verify\b/ },
  { note: 'changes git hooks', text: /core\.hooksPath|core\.fsmonitor/i },
  { note: 'evaluates text as code', text: /\beval\s*\(|new Function\s*\(/ },
  { note: 'starts a process', text: /child_process|\bexecSync\s*\(|\bsubprocess\.|os\.system\s*\(/ },
  { note: 'inserts HTML', text: /dangerouslySetInnerHTML|\.innerHTML\s*=/ },
  {
    note: 'switches off certificate checks',
    text: /NODE_TLS_REJECT_UNAUTHORIZED|rejectUnauthorized:\s*false|verify\s*=\s*False/,
  },
  { note: 'runs in CI', path: /(^|\/)\.github\/workflows\//, text: /^\s*(- )?run:/ },
  { note: 'runs in the shell of whoever opens the folder', path: /(^|\/)\.envrc$/ },
]

/** Bounds the time that the patterns take on a planted line of a megabyte. */
const LONGEST = 2_000

export function riskNote(path: string, section: string, text: string): string | null {
  const part = text.slice(0, LONGEST)
  if (part.trim() === '') return null
  const rule = RULES.find(
    (each) =>
      (each.path?.test(path) ?? true) && (each.section?.test(section) ?? true) && (each.text?.test(part) ?? true),
  )
  return rule?.note ?? null
}
