import { stem } from './tokenizer.ts'

/**
 * Words on one line are interchangeable in a recommendation. Keep it short: a wrong line merges different statements.
 */
const SYNONYMS = `
use adopt choose pick select employ utilize take
increase raise bump lengthen extend
decrease reduce lower shorten cut
add introduce implement create
remove delete drop eliminate
build make create construct write
fix repair correct resolve
begin start
big large
quick fast
faster quicker
error failure fault
bug defect
test check verify
ship release deploy publish
split divide break separate
merge combine join
keep retain preserve
approve accept
prefer favor
enable activate
disable deactivate
add put
reject decline refuse
buy purchase
app application
function method
folder directory
developer engineer
customer client user
store save persist
show display
hide conceal
log record
monitor watch observe
call invoke
dependency package
document describe
upgrade update
plan roadmap
main primary
switch change
halve half
move migrate
postpone delay defer
change modify
issue problem
improve enhance
rewrite reimplement
gradually incrementally stepwise
`

const SYNONYM_LINES = new Map<string, number[]>()
SYNONYMS.trim()
  .split('\n')
  .forEach((row, line) => {
    for (const word of row.split(' ')) SYNONYM_LINES.set(stem(word), [...(SYNONYM_LINES.get(stem(word)) ?? []), line])
  })

export function areSynonyms(a: string, b: string): boolean {
  const linesOfB = SYNONYM_LINES.get(b)
  return linesOfB !== undefined && (SYNONYM_LINES.get(a) ?? []).some((line) => linesOfB.includes(line))
}
