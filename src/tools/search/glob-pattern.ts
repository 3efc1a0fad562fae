import { mistaken } from '../complaint.ts'

/*
 * Shell patterns as regular expressions: `*` and `?` stay within a name, `**` between slashes crosses folders,
 * `[a-z]`, `[!a]` and `{a,b}` as usual, a backslash takes the next character as it is.
 */

export interface GlobOptions {
  /** `{a,b}` means either; in ignore files braces are plain characters. */
  braces: boolean
}

const LONGEST = 1000

/** The expression for a pattern without its anchors. */
export function globSource(glob: string, { braces }: GlobOptions): string {
  if (glob.length > LONGEST) throw mistaken(`the pattern is longer than ${LONGEST} characters`)
  let source = ''
  let depth = 0
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at] ?? ''
    if (char === '*') {
      const [piece, next] = stars(glob, at)
      source += piece
      at = next
    } else if (char === '?') source += '[^/]'
    else if (char === '[') {
      const [piece, next] = bracket(glob, at)
      source += piece
      at = next
    } else if (char === '\\' && at + 1 < glob.length) source += literal(glob[++at] ?? '')
    else if (braces && char === '{') {
      depth++
      source += '(?:'
    } else if (braces && char === '}' && depth > 0) {
      depth--
      source += ')'
    } else if (braces && char === ',' && depth > 0) source += '|'
    else source += literal(char)
  }
  if (depth > 0) throw mistaken(`the pattern '${glob}' opens a brace and does not close it`)
  return source
}

/** `**` as a whole name stands for any number of folders; anywhere else stars mean one star. */
function stars(glob: string, at: number): [source: string, last: number] {
  let end = at
  while (glob[end + 1] === '*') end++
  const whole =
    end - at === 1 && (at === 0 || glob[at - 1] === '/') && (end + 1 === glob.length || glob[end + 1] === '/')
  if (!whole) return ['[^/]*', end]
  if (end + 1 === glob.length) return ['.*', end]
  return ['(?:.*/)?', end + 1]
}

function bracket(glob: string, at: number): [source: string, last: number] {
  let end = at + 1
  if (glob[end] === '!' || glob[end] === '^') end++
  if (glob[end] === ']') end++
  while (end < glob.length && glob[end] !== ']') end += glob[end] === '\\' ? 2 : 1
  if (end >= glob.length) return ['\\[', at]
  const inside = glob.slice(at + 1, end)
  const negated = /^[!^]/.test(inside)
  const body = (negated ? inside.slice(1) : inside).replace(/\\(.)/g, '$1').replace(/[\\\]^[&~|]/g, '\\$&')
  return [`(?!/)[${negated ? '^' : ''}${body}]`, end]
}

function literal(char: string): string {
  return /[\\^$.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char
}

/**
 * Whether a path below the searched folder is meant. A pattern without a slash is tried on the name at any depth, one with
 * a slash on the whole path, one that begins with `!` excludes.
 */
export function globFilter(pattern: string): (path: string) => boolean {
  const negated = pattern.startsWith('!')
  const plain = negated ? pattern.slice(1) : pattern
  const anchored = plain.includes('/')
  const glob = plain.replace(/^\.?\//, '').replace(/\/$/, '/**')
  const expression = compile(pattern, `${anchored ? '^' : '(?:^|/)'}${globSource(glob, { braces: true })}$`)
  return (path) => expression.test(path) !== negated
}

function compile(pattern: string, source: string): RegExp {
  try {
    return new RegExp(source, 's')
  } catch {
    throw mistaken(`'${pattern}' is not a file pattern`, 'use * ? ** [abc] {a,b}')
  }
}
