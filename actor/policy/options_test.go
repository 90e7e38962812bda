package policy

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestEverydayOptions: options that look like guarded ones must not ask.
func TestEverydayOptions(t *testing.T) {
	judgeDefault(t, Allow, false, `
		date -Iseconds
		date -Iminutes
		date -Ins
		date -u -Iseconds
		column -ts/ f
		cut -sd/ -f1 f
		sort -t/ -k2 f
		sort -rnk2 f
		sort -nrk2,2 -t: f
		sort -t, -k1,1 -o out.csv in.csv
		paste -sd/ f
		paste -sd, f
		grep -rnE 'a/b' src
		grep -rne '/etc/passwd' src
		grep -e '\.env' README.md
		grep --include='*.go' -rn foo .
		grep --include '*.go' -rn foo .
		grep --exclude-dir=node_modules -rn '.env' .
		grep --exclude-dir node_modules -rn '.env' .
		grep -A3 -B 2 'func main' main.go
		grep -m1 -o 'x' f
		grep -oP '(?<=/)x' f
		grep -nw -- '-x' f
		grep -n -- "$X" f
		rg -n -- "$PAT" src
		rg -nF -e '.env' src
		rg -t go -g '*.go' -A 3 '.env' src
		rg --files
		rg --files -g '*.go'
		rg -C3 '/etc/passwd'
		rg -uuu foo
		rg -M 200 -j 4 foo
		jq -r .name package.json
		jq -r '.env.x' package.json
		jq -e . f.json
		jq --arg x /etc '.a[$x]' f.json
		jq -n --arg a b '{a:$a}'
		jq -rf prog.jq f.json
		jq -s 'add' a.json b.json
		jq '.include' tsconfig.json
		jq '.scripts' package.json
		git log --oneline -- "$f"
		git diff --stat -- "$f"
		git log -p --follow -- "$f"
		git log -S foo -- src
		git log -Sfoo
		git grep -nE foo -- '*.go'
		git grep -e a --or -e b
		git commit -m 'x'
		git commit -am 'x --amend'
		git commit -q -m x -- a.go
		git commit --fixup HEAD
		git commit -vm x
		git commit --allow-empty -m x
		git add -u
		git add -p
		git show-ref
		git diff-tree -r HEAD
		git ls-files -z | xargs -0 wc -l
		find . -name '*.go' | xargs -I{} wc -l {}
		find . -type f | xargs -r grep -l x
		ls | xargs -n1 basename
		find . -maxdepth 2 -type d
		find . -type f ! -name '*.env' -exec grep -l x {} +
		find . -name 'test*' -exec wc -l {} +
		find . -path ./.git -prune -o -name '*.go' -exec grep -l x {} +
		find . -name '*.env' -prune -o -name '*.go' -exec grep -l x {} +
		find . -name .git -type d -exec dirname {} \;
		sed -ne '1,5p' f
		sed -En 's/a/b/p' f
		sed -n -e '1p' -e '5p' f
		sed -e 's/i/s/' f
		go test -v -run TestX ./...
		go test ./... -coverprofile=c.out
		go test -race -short ./...
		go list -f '{{.Dir}}' ./...
		go doc -all fmt
		go build -ldflags '-s -w' ./...
		go vet ./... && staticcheck ./...
		golangci-lint run ./...
		pytest -k 'a and b' tests/x.py::test_y
		pytest tests/x.py::TestA::test_b -xvs
		pytest --cov=src --cov-report=term-missing
		pytest --cov-report=html:cov
		pytest -p no:cacheprovider
		pytest -n 4 --lf
		python -m pytest -q tests
		python3 -m pytest -k foo
		python -m unittest -v tests.test_x
		python -m unittest
		python3 -m pip list
		ctest --output-on-failure -j4
		ctest -R Foo -VV
		dotnet test --no-build -v q
		dotnet test -l trx
		eslint . --ext .ts --fix
		eslint src --max-warnings=0
		mypy --strict src
		jest --coverage
		jest src/a.test.ts -t 'x'
		vitest run --coverage
		npx tsc --noEmit -p tsconfig.json
		npx tsc --noEmit
		tsc --noEmit
		bundle exec rspec spec/x_spec.rb:10
		rspec
		cargo test -- --nocapture
		cargo build --release
		cargo clippy -- -D warnings
		cargo fmt --check
		cargo fmt -- --check
		cargo test -p x --lib
		gradle test --info --stacktrace
		./gradlew test -x lint --continue
		mvn test -q -DskipITs
		npm test -- --watch=false
		npm run build -- --mode production
		npm test --silent
		CGO_ENABLED=0 go build ./...
		GOOS=linux GOARCH=arm64 go build -o bin/x ./cmd/x
		tree -a -I node_modules -L 2
		file -b --mime-type x
		stat -c %s f
		uniq -c
		tail -n +5 f
		head -c100 f
		xxd -l 16 f
		od -An -tx1 f
		diff -ru a b
		ls -la1 --color=never
		ls -lah src/
		du -sh *
		du -sh .
		test -f x && cat x
		env | sort
		env -u X go test ./x
		exit 0
		uname -sr
		git status -sb
		git log -5
		git log -p -2 -- src
		git diff HEAD
		git diff --cached --name-only
		git show
		git describe
		git rev-list --count HEAD
		git rev-list -n 1 HEAD
		git tag -l
		git stash show
		cargo tree -d
		cargo metadata --format-version 1
		go vet
		go test
		go build
		staticcheck ./...
		awk -F/ '{print $NF}' f
		comm -23 a b
		strings -n 8 bin
		find . -path '*/node_modules' -prune -o -name '*.ts' -print
		git log --format='%h:%s' -5
		git log -L:main:main.go
		git show HEAD:./main.go
		git show HEAD:actor/policy/rules.go | head
		git diff main -- . ':(exclude)go.sum'
		git diff -- . ':!vendor'
		go test ./... -run 'TestX/y' -v
		go test -bench . -run xxx -benchtime=1x ./pkg
		go test -coverprofile=c.out ./... && go tool cover -func=c.out
		go build -trimpath -o bin/app ./cmd/app
		go list -m -versions x
		go list -deps ./... | grep foo
		grep -rn --include=*.go foo .
		grep -rIl foo . --exclude-dir=.git
		grep -rn foo --exclude-dir={.git,node_modules} .
		rg -n --hidden -g '!.git' foo
		rg -A2 -B2 foo src
		rg 'a|b' src
		rg --json foo
		rg -e foo -e bar src
		rg -o '[a-z]+:[0-9]+' f
		sort -t: -k3n f
		sort -k1,1 -k2,2nr f
		sort --key=2 --reverse f
		sort -V
		sort -h
		date '+%Y-%m-%d %H:%M:%S'
		date -u '+%FT%TZ'
		date -u +%Y-%m-%dT%H:%M:%SZ
		tree -L 2 -I 'node_modules|dist'
		tree -d
		du -h --max-depth=1 .
		find . -newer go.mod -name '*.go'
		find . -mtime -1 -type f
		find . -size +1M
		find . -type f -printf '%s %p\n'
		find . -name '*.go' -exec gofmt -l {} +
		find . -empty -type d
		jq '.dependencies | keys' package.json
		jq -c '.[]' f.json
		jq -r '.items[] | "\(.a):\(.b)"' f.json
		jq --tab . f.json
		jq -S . f.json
		cat f | jq .
		awk -F: '{print $1":"$2}' f
		tail -n 100 log | grep -i error
		head -n 5 *.md
		sed -n '10,20p;30q' f
		sed 's/^/  /' f
		sed -E 's/(a)(b)/\2\1/' f
		xargs -n1 echo < f
		git ls-files '*.go' | xargs wc -l
		git ls-files | xargs -I{} basename {}
		git status --porcelain=v1 -uall
		git commit -m "a: b" -m "c"
		git commit -F msg.txt
		git commit --allow-empty-message -m ''
		git commit -S -m x
		git commit --signoff -m x
		git commit -uno -m x
		git add .
		git add --all
		git add -N f
		git blame -w -L5,10 f
		git branch -a --contains HEAD
		git tag --points-at HEAD
		git reflog -5
		git rev-parse HEAD~2
		git log origin/main..HEAD
		git log --all --graph --oneline
		git log --author=x --since=yesterday
		git shortlog -sne
		git grep -n 'foo' -- src
		git grep -c foo
		git stash show -p stash@{0}
		git worktree list --porcelain
		cargo test foo::bar -- --test-threads=1
		cargo build -p x --features a,b
		cargo clippy --all-targets --all-features -- -D warnings
		npm test -- src/x.test.ts -t 'foo'
		npm run lint -- --fix
		npm run build --if-present
		npm ls react
		npm test -w pkg
		pnpm test --filter x
		yarn test --coverage
		pytest -x -vv --tb=short
		pytest tests -m 'not slow'
		pytest --maxfail=1 -q
		pytest -rA
		pytest --collect-only -q
		pytest -W error
		python -m pytest tests/test_x.py::TestA -k b
		python3 -m unittest discover -s tests -p 'test_*.py'
		mypy src --ignore-missing-imports
		ruff check src --output-format=concise
		ruff check . --select E,F
		eslint 'src/**/*.ts'
		eslint --fix src
		jest --watchAll=false
		jest -t 'a b'
		vitest run src/x.test.ts
		tsc --noEmit -p .
		mvn test -Dtest=Foo#bar
		mvn test -pl mod -am
		gradle test --tests 'a.B'
		./gradlew test --rerun-tasks
		dotnet test --filter Name=x
		dotnet test -c Release
		ctest -V
		ctest --test-dir build
		ctest -j 4 -R foo
		make test 2>&1 | tail -5
		make -n
		rspec spec/a_spec.rb -fd
		bundle exec rspec
		set -e; ls
		cd sub && make test
		timeout -k 5 60 go test ./...
		time make test
	`)
}

// TestHiddenOptions: a guarded option is seen however it is written, and behind whatever runs its program.
func TestHiddenOptions(t *testing.T) {
	judgeDefault(t, Ask, true, `
		sed --in-place s/a/b/ f
		sed --in-place=.bak s/a/b/ f
		sed --in-pl s/a/b/ f
		sed -nEsri s/a/b/ f
		sed -EnEsi s/a/b/ f
		sed -EnEsi.bak s/a/b/ f
		sed s/a/b/ f --in-place
		sed -ns p f -i
		date -us 2020
		date --set=2020
		date +%s --set 2020
		go env --w GOFLAGS=x
		go env GOFLAGS -w
		git branch --del x
		git branch --list -vvvvvvD x
		git branch a --mov b
		git commit --amend
		git commit --amend --no-edit
		git commit -qam x --am
		git commit -m -- --amend
		git commit-graph write
		git logx
		git testx
		go testx
		exit-x
		jest-deploy
		npm list-x
		cargo metadata-x
		python -m unittestx
		grep --rege=. .env
		grep -ne. .env
		grep -he. .env
		grep -hesecret .env
		grep -hf x .env
		grep -rf/etc/passwd x
		grep -A3 -e x .env
		grep -A 3 x .env
		grep --context 3 x .env
		grep -e x -- .env
		grep -- x .env
		grep -e -- .env
		rg -e -- --pre=./x foo
		rg --regexp=x .env
		rg -ne. .env
		rg -f.env x
		rg --ignore-file .env x
		rg -e x /etc/passwd
		jq -n --rawfile a .env '$a'
		jq --rawfile a .env -n '$a'
		jq -L /etc -n 'import "x" as $d; $d'
		jq -n 'import "/etc/x" as $d; $d'
		jq --from-file .env x
		jq -f .env
		jq -rf .env
		jq . /etc/passwd
		jq -e . .env
		ls | xargs -0Ils sh -c ls
		ls | xargs -rI% sh -c %
		ls | xargs --replace rm echo {}
		ls | xargs --max-lines rm echo
		ls | xargs --eof rm echo
		ls | xargs --replace sh -c {}
		sort -uo/etc/passwd f
		sort -uo.git/hooks/pre-commit f
		sort -no../x f
		sort -T -- --compress-program=./x f
		sort -rt/ -o/etc/x f
		date +%s --s=2020-01-01
		date +%s -us 2020
		date -d -- -s x
		git log --grep -- --output=x
		git log --o=x
		GOCACHEPROG=./x go build ./...
		GOPACKAGESDRIVER=./x staticcheck ./...
		JAVA_HOME=./x mvn test
		CGO_CXXFLAGS=x go build ./...
		env -C/ cat etc/passwd
		env -iC/ cat etc/passwd
		env -C / cat etc/passwd
		bash -O extglob -c 'cat .@(env)'
		bash -O dotglob -c 'cat *env'
		pytest -o addopts=--basetemp=src
		pytest --override-ini=addopts=--basetemp=src
		pytest @args
		pytest --tx ssh=host
		pytest --cov-report=html:../x
		pytest --cov-report html:/tmp/x
		pytest -o cache_dir=/x
		mypy --install-types x
		mypy --python-exec=./x y
		eslint --inspect-config
		ctest -D ExperimentalSubmit
		ctest -S deploy.cmake
		ctest -T Submit
		dotnet test -t:Publish
		gradle test --scan
		./gradlew test --scan
		python -m pytest --basetemp=src
		python3 -m pytest --basetemp . -q
		python -m pytest --pastebin=all
		python -m pip show --log x y
		npx pytest --basetemp=x
		bundle exec rspec -x /etc/x
		go doc -http
		python -m pytest -o addopts=-x
		npm test -script-shell=sh
		npm test --userconfig=./x
		yarn test --use-yarnrc ./x
		dotnet test @x.rsp
		dotnet test --diag:/x
		find . -name .env -exec cat {} \;
		find . -type f -iname '*.env' -exec grep . {} +
		cat ~/../x
		cat ~+/../x
		ls > ~/../x
		cat ${HOME:-x}/x
		npm test -script-she sh
		sed -n .env -e p
		sed .env -e p
		sed /root/x -e p
		git grep -nO x
		git grep -e a -Oless
		date -f/etc/passwd +%s
		date +%s -uf/etc/passwd
		tee -a /etc/x < f
		find . -fls ../x
		find . -D exec -delete
		ls -la/etc
		python -c 'print(1)'
		python -um pytest --basetemp=x
		git diff --no-index /dev/null .env
		git diff --no-index /etc/passwd x
		git show HEAD:../.env
		gofmt -w /etc/x
		gofmt -cpuprofile=/tmp/x f
	`)
	judgeDefault(t, Deny, false, `
		rm -rfvvv x
		rm -vvvvrIf x
		rm --recursive --forc x
		rm --rec x --fo
		dd of=/dev/sda
		dd of=/dev/sda if=x
		grep --rege=. .env
		grep -hne. .env
		grep --exclude-dir .git x .env
		grep --exclude-f .env x y
		jq --rawfile a .env -n '$a'
	`)
}

// TestSpellings is a law: however the options of a command are spelled and wherever they stand, the rule that asks
// about or denies it holds.
func TestSpellings(t *testing.T) {
	for _, tt := range []struct {
		program, operands string
		options           []string // each in its spellings
		idle              string   // letters that change nothing
		want              Verdict
	}{
		{"rm", "x y", []string{"r R --recursive --recursiv --r", "f --force --f"}, "vIid", Deny},
		{"sed", "s/a/b/ f", []string{"i --in-place --in --i"}, "nErsz", Ask},
		{"git branch", "a", []string{"d --delete --del"}, "qavr", Ask},
		{"git branch", "a b", []string{"M --move --mo"}, "qv", Ask},
		{"date", "2020-01-01", []string{"s --set --s"}, "uR", Ask},
		{"git commit", "a.go", []string{"--amend --amen --am"}, "qavs", Ask},
		{"git push", "origin main", []string{"f --force --forc"}, "qvn", Ask},
	} {
		for seed := range uint64(300) {
			r := rand.New(rand.NewPCG(seed, 1))
			cmd := tt.program + " " + strings.Join(respelled(r, strings.Fields(tt.operands), tt.options, tt.idle), " ")
			if d := Default().Judge(bash(t, cmd)); d.Verdict != tt.want || strings.HasPrefix(d.Rule, "tool") {
				t.Fatalf("seed %d: %q: %s by %s", seed, cmd, d.Verdict, d.Rule)
			}
		}
	}
}

// respelled writes the options long or as letters of a bundle among idle ones, and puts them anywhere among the operands.
func respelled(r *rand.Rand, words, options []string, idle string) []string {
	bundle := []string{}
	for _, spellings := range options {
		list := strings.Fields(spellings)
		if o := list[r.IntN(len(list))]; len(o) == 1 {
			bundle = append(bundle, o)
		} else {
			words = slices.Insert(words, r.IntN(len(words)+1), o)
		}
	}
	for range r.IntN(9) {
		bundle = append(bundle, idle[r.IntN(len(idle)):][:1])
	}
	r.Shuffle(len(bundle), func(i, j int) { bundle[i], bundle[j] = bundle[j], bundle[i] })
	if len(bundle) > 0 {
		words = slices.Insert(words, r.IntN(len(words)+1), "-"+strings.Join(bundle, ""))
	}
	return words
}
