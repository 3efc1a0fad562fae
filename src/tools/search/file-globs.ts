import { unknownNameError } from '../../errors.ts'

/** File name globs per ripgrep file type (`rg --type-list`). */
const FILE_TYPE_GLOBS: Readonly<Record<string, readonly string[]>> = {
  c: ['*.c', '*.h'],
  cpp: ['*.cpp', '*.cc', '*.cxx', '*.hpp', '*.hh', '*.hxx', '*.h'],
  csharp: ['*.cs'],
  css: ['*.css', '*.scss'],
  go: ['*.go'],
  html: ['*.html', '*.htm'],
  java: ['*.java'],
  js: ['*.js', '*.jsx', '*.mjs', '*.cjs', '*.vue'],
  json: ['*.json'],
  kotlin: ['*.kt', '*.kts'],
  md: ['*.md', '*.markdown', '*.mdx'],
  php: ['*.php'],
  py: ['*.py', '*.pyi'],
  ruby: ['*.rb', 'Gemfile', 'Rakefile'],
  rust: ['*.rs'],
  sh: ['*.sh', '*.bash', '*.zsh'],
  sql: ['*.sql'],
  swift: ['*.swift'],
  toml: ['*.toml'],
  ts: ['*.ts', '*.tsx', '*.mts', '*.cts'],
  txt: ['*.txt'],
  xml: ['*.xml'],
  yaml: ['*.yaml', '*.yml'],
}

export function globsForFileType(type: string): readonly string[] {
  const globs = Object.hasOwn(FILE_TYPE_GLOBS, type) ? FILE_TYPE_GLOBS[type] : undefined
  if (!globs)
    throw unknownNameError('tool_failed', { kind: 'file type', name: type, known: Object.keys(FILE_TYPE_GLOBS) })
  return globs
}
