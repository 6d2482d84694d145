"""Regret of Optuna's samplers on the pools of figure 15.

python3 optuna.py FOLDER tpe|gp|random SEEDS TRIALS: one line a task and seed, regret after 50 and 100 trials. Asked
points become the nearest configuration not tried, which Optuna is told as a trial of its own.
"""
import gzip,glob,sys,time,warnings,numpy as np,optuna
warnings.filterwarnings('ignore'); optuna.logging.set_verbosity(optuna.logging.ERROR)
folder,method,seeds,trials=sys.argv[1],sys.argv[2],int(sys.argv[3]),int(sys.argv[4])
D=optuna.distributions
names=['batch_size','learning_rate','max_dropout','max_units','momentum','num_layers','weight_decay']
dist={'batch_size':D.IntDistribution(16,512,log=True),'learning_rate':D.FloatDistribution(1e-4,1e-1,log=True),'max_dropout':D.FloatDistribution(0,1),
 'max_units':D.IntDistribution(64,1024,log=True),'momentum':D.FloatDistribution(.1,.99),'num_layers':D.IntDistribution(1,5),'weight_decay':D.FloatDistribution(1e-5,.1)}
lo=np.array([np.log(16),np.log(1e-4),0,np.log(64),.1,1,1e-5]); hi=np.array([np.log(512),np.log(.1),1,np.log(1024),.99,5,.1]); logs=[0,1,3]
def unit(x):
    x=np.array(x,float); x[...,logs]=np.log(x[...,logs]); return (x-lo)/(hi-lo)
for f in sorted(glob.glob(folder+'/task-*.csv.gz')):
    a=np.loadtxt(gzip.open(f,'rt'),delimiter=',',skiprows=1); X=a[:,:7]; y=a[:,58]; U=unit(X)
    best,med=y.max(),np.median(y)
    for seed in range(seeds):
        t0=time.time()
        sampler=optuna.samplers.TPESampler(seed=seed) if method=='tpe' else optuna.samplers.GPSampler(seed=seed,deterministic_objective=False) if method=='gp' else optuna.samplers.RandomSampler(seed=seed)
        study=optuna.create_study(direction='maximize',sampler=sampler); free=np.ones(1000,bool); top=-1e9; out=[]
        for i in range(trials):
            t=study.ask(dist); p=[t.params[n] for n in names]
            d=((U-unit(p))**2).sum(1); d[~free]=1e9; k=int(d.argmin()); free[k]=False
            study.tell(t,state=optuna.trial.TrialState.FAIL)
            params={n:(int(X[k,j]) if n in('batch_size','max_units','num_layers') else float(min(max(X[k,j],dist[n].low),dist[n].high))) for j,n in enumerate(names)}
            study.add_trial(optuna.trial.create_trial(params=params,distributions=dist,value=float(y[k])))
            top=max(top,y[k])
            if i+1 in (50,100): out.append((best-top)/(best-med))
        print(f.split('-')[-1].split('.')[0],seed,*['%.5f'%o for o in out],'%.1f s'%(time.time()-t0),flush=True)
