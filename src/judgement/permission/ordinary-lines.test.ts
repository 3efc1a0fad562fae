import { expect, test } from 'vitest'
import { evaluatePolicies } from './permission-policy.ts'

/* Lines of an ordinary day: with rules that allow the programs, a deny rule for another one causes no question. */

const LINES = [
  'git status',
  'git status --short && git diff --stat',
  'git diff HEAD~1 -- src',
  'git log --oneline -20',
  "git log --pretty=format:'%h %s' --since=yesterday | head -20",
  'git log -S"openFile" -- src/a.ts',
  'git show HEAD:src/a.ts | sed -n "1,40p"',
  'git add -A && git commit -m "Retry the upload (curl hangs on a slow host)"',
  'git commit --amend --no-edit',
  'git fetch --all --prune',
  'git pull --rebase origin main',
  'git push --set-upstream origin HEAD',
  'git rebase --continue',
  'git stash pop',
  'git worktree add ../fix -b fix',
  'git grep -n "TODO" src',
  'git ls-files -o --exclude-standard | wc -l',
  'git rev-parse --show-toplevel',
  'git blame -L 10,20 src/a.ts',
  'npm test',
  'npm ci && npm run build -- --mode production',
  'npm test -- --run src/a.test.ts 2>&1 | tail -40',
  "npx vitest run src -t 'reads a file'",
  'npx tsc --noEmit -p tsconfig.json',
  'pnpm --filter web build',
  'yarn workspace web test',
  'node script.js --port 3000',
  'node --test test/*.test.js',
  'CI=1 NODE_ENV=test npm test',
  'timeout 120 npm test',
  'python -m pytest -q tests/test_a.py',
  'python3 scripts/report.py --out report.csv',
  'pytest -k "reads and not slow" -x',
  'pip install -r requirements.txt',
  'ruff check . && mypy src',
  'uv run pytest -q',
  'cargo test --workspace -- --nocapture',
  'cargo build --release',
  'cargo clippy --all-targets -- -D warnings',
  'go test ./... -run TestReader',
  'go vet ./...',
  'make',
  'make -j8 test VERBOSE=1',
  'ls -la | head -5',
  'grep -rn "openFile" src --include=*.ts',
  "grep -rnE 'open(File|Folder)' src | sort | uniq -c | sort -rn | head",
  "rg -n 'system|exec' src",
  "sed -n '1,20p' src/a.ts",
  "sed -i 's/oldName/newName/g' src/a.ts",
  "sed -e 's/^ *//' -e '/^$/d' a.txt",
  "find . -name '*.ts' -not -path './node_modules/*'",
  'find src -type f -mtime -1 -print',
  "find . -name '*.log' -exec wc -l {} +",
  "git ls-files '*.ts' | xargs wc -l",
  "awk '{print $1}' access.log | sort | uniq -c",
  "awk -F'|' '{print $2, $3}' table.txt",
  "awk -F: '$3 >= 1000 || $3 == 0 {print $1}' users.txt",
  "awk '/error|warning/ {n++} END {print n}' build.log",
  "awk '{ sum += $2 } END { print sum / NR }' times.txt",
  'awk \'{ print $1 " | " $2 }\' a.txt',
  'cat package.json | jq -r ".scripts | keys[]"',
  'wc -l src/*.ts && du -sh dist',
  'mkdir -p out/a && cp -r src/assets out/a',
  'tar -czf dist.tar.gz dist --exclude=node_modules',
  'diff -u expected.txt actual.txt | head -50',
  'docker compose up -d db && docker compose logs db | tail -20',
  'docker build -t app:dev .',
  'kubectl get pods -n web',
  "psql -c 'select count(1) from users'",
  "sqlite3 app.db '.tables'",
  'gh pr view 12 --json title,body',
  'eslint . --fix && prettier --check .',
  'bash scripts/test.sh --fast',
  'ps aux | grep node | grep -v grep',
  'rsync -avz --delete dist/ server:/srv/app/',
  'cd src && ls',
]

const programs = [...new Set(LINES.flatMap((line) => line.split(/&&|\|\|?/).map((part) => part.trim().split(' ')[0])))]
const POLICY = {
  mode: 'ask' as const,
  allow: programs.map((program) => `Bash(${program}:*)`),
  deny: ['Bash(curl:*)', 'Bash(rm -rf:*)', 'Bash(sudo:*)'],
}

const decide = (line: string) => evaluatePolicies([POLICY], { tool: 'Bash', subject: line, acts: true })

test.each(LINES)('PM55 %j causes no question', (line) => {
  expect(decide(line)).toMatchObject({ decision: 'allow' })
})

test('PM55 control: with a denied command after it, each of these lines is denied', () => {
  for (const line of LINES) expect(decide(`${line}; curl evil`).decision, line).toBe('deny')
})
