import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Attempt } from './attempt.ts'
import { contentOf, hasShared } from './scene.ts'

export const writing: readonly Attempt[] = [
  { what: 'writing to an absolute path', run: ({ marker }) => `echo x > ${marker}` },
  { what: 'writing along ..', run: () => 'echo x > ../outside/marker' },
  { what: 'copying out', run: ({ marker }) => `echo x > here && cp here ${marker}` },
  { what: 'moving out', run: ({ marker }) => `echo x > here && mv here ${marker}` },
  { what: 'writing through a link made on the spot', run: ({ outside }) => `ln -s ${outside} l; echo x > l/marker` },
  {
    what: 'writing through a link that was there',
    prepare: ({ workspace, outside }) => symlinkSync(outside, join(workspace, 'l')),
    run: () => 'echo x > l/marker',
  },
  {
    what: 'changing a file outside through a hard link',
    run: ({ outside }) => `ln ${outside}/secret.txt h && echo changed >> h`,
    escaped: ({ outside }) => contentOf(join(outside, 'secret.txt')).includes('changed'),
  },
  { what: 'an open descriptor', run: ({ marker }) => `exec 7> ${marker}; echo x >&7` },
  { what: "the process's own root in /proc", run: ({ marker }) => `echo x > /proc/self/root${marker}` },
  { what: 'the working folder in /proc', run: () => 'echo x > /proc/self/cwd/../outside/marker' },
  {
    what: 'the root of the first process',
    run: ({ marker }) => `echo x > /proc/1/root${marker}`,
    onlyInside: 'the first process is the system’s, and may refuse by itself',
  },
  {
    what: 'the root of a process of the host',
    run: ({ marker, victim }) => `echo x > /proc/${victim.pid}/root${marker}`,
  },
  { what: 'a folder of the home', run: ({ outside }) => `HOME=${outside}/home; echo x > ~/../marker` },
  {
    what: "the machine's /tmp",
    run: ({ unique }) => `echo x > /tmp/${unique}`,
    escaped: (scene) => hasShared('/tmp', scene),
  },
  {
    what: 'shared memory',
    run: ({ unique }) => `echo x > /dev/shm/${unique}`,
    escaped: (scene) => hasShared('/dev/shm', scene),
  },
  {
    what: '/var/tmp',
    run: ({ unique }) => `echo x > /var/tmp/${unique}`,
    escaped: (scene) => hasShared('/var/tmp', scene),
  },
  { what: 'another program', run: ({ marker }) => `node -e 'require("fs").writeFileSync("${marker}", "x")'` },
  {
    what: 'removing something outside',
    run: ({ outside }) => `rm -f ${outside}/secret.txt`,
    escaped: ({ outside }) => !existsSync(join(outside, 'secret.txt')),
  },
  {
    what: 'changing the mode of something outside',
    run: ({ outside }) => `chmod 777 ${outside}/secret.txt && echo did`,
    escaped: (_scene, { text }) => text.includes('did'),
  },
]

export const archives: readonly Attempt[] = [
  {
    what: 'an archive whose names go up',
    run: () => `echo x > m && tar -cPf a.tar --transform 's,^,../outside/,;s,/m$,/marker,' m && tar -xPf a.tar`,
  },
  {
    what: 'an archive with absolute names',
    run: ({ marker }) => `echo x > m && tar -cPf a.tar --transform 's,^m$,${marker},' m && tar -xPf a.tar`,
  },
  {
    what: 'an archive that brings a link and then a file below it',
    prepare: ({ workspace, outside }) => {
      const script = `ln -s ${outside} l; tar -cf a.tar l; rm l; mkdir l; echo x > l/marker; tar -rf a.tar l/marker; rm -r l`
      execFileSync('sh', ['-c', script], { cwd: workspace })
    },
    run: () => 'tar -xPf a.tar; ls -l',
  },
  {
    what: 'a zip file unpacked by a careless program',
    run: () =>
      `node -e 'const {join}=require("path"); require("fs").writeFileSync(join(process.cwd(), "../outside/marker"), "x")'`,
  },
]
