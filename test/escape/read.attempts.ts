import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Attempt } from './attempt.ts'
import { SECRET } from './host-fixture.ts'

export const readAttempts: readonly Attempt[] = [
  { title: 'reading an absolute path', run: ({ outside }) => `cat ${outside}/secret.txt` },
  { title: 'reading with ..', run: () => 'cat ../outside/secret.txt' },
  {
    title: 'reading through a symlink',
    prepare: ({ workspace, outside }) => symlinkSync(join(outside, 'secret.txt'), join(workspace, 'l')),
    run: () => 'cat l',
  },
  { title: 'reading through a hard link', run: ({ outside }) => `ln ${outside}/secret.txt h; cat h` },
  { title: 'the root in /proc', run: ({ outside }) => `cat /proc/self/root${outside}/secret.txt` },
  {
    title: 'the root of a host process',
    run: ({ outside, victim }) => `cat /proc/${victim.pid}/root${outside}/secret.txt`,
  },
  { title: 'searching everywhere', run: ({ root }) => `grep -rh secret-of-the-host ${root} 2>/dev/null` },
  { title: 'a file in the home folder', run: ({ outside }) => `cat ${outside}/home/.netrc` },
  {
    title: '/etc/hostname',
    run: () => 'cat /etc/hostname',
    escaped: (_host, { text }) => text.trim() === readFileSync('/etc/hostname', 'utf8').trim(),
  },
  {
    title: 'an archive of the outside',
    run: ({ outside }) => `tar -cf a.tar -C ${outside} . 2>/dev/null; tar -xOf a.tar ./secret.txt`,
  },
  {
    title: 'reading .troupe',
    prepare: ({ workspace }) => writeFileSync(join(workspace, '.troupe', 'journal'), SECRET),
    run: () => 'cat .troupe/journal',
  },
  {
    title: 'changing .troupe',
    prepare: ({ workspace }) => writeFileSync(join(workspace, '.troupe', 'journal'), 'kept'),
    run: () => 'echo forged > .troupe/journal; rm -rf .troupe/journal; true',
    escaped: ({ workspace }) => {
      const journal = join(workspace, '.troupe', 'journal')
      return !existsSync(journal) || readFileSync(journal, 'utf8') !== 'kept'
    },
  },
  {
    title: 'a symlink in place of .troupe',
    run: ({ outside }) => `rm -rf .troupe; mv .troupe away; ln -sfn ${outside} .troupe`,
    escaped: ({ workspace }) => lstatSync(join(workspace, '.troupe')).isSymbolicLink(),
  },
]

const environmentAttempt = (run: Attempt['run'], title: string): Attempt => ({ title, run })

export const environmentAttempts: readonly Attempt[] = [
  environmentAttempt(() => 'env', 'the environment'),
  environmentAttempt(() => "cat /proc/self/environ | tr '\\0' '\\n'", 'the environment in /proc'),
  // Searches only for the secret variable: there are many processes, and output is limited.
  environmentAttempt(
    () => "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a -m 3 TROUPE_TEST_HOST_VALUE",
    'the environments of all processes',
  ),
  environmentAttempt(() => "node -p 'process.env.TROUPE_TEST_HOST_VALUE'", 'the environment in node'),
  environmentAttempt(() => `bash -lc 'export -p; set' | grep -i host_value`, 'a login shell'),
  environmentAttempt(({ outside }) => `HOME=${outside}/home bash -c 'cat ~/.netrc'`, 'another HOME'),
]
